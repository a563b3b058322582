"""Training by gradient descent: settings, schedules, noise, one step, and the loop over epochs."""

from tanager.training.history import History, ParentPath
from tanager.training.loop import TrainingDivergedError, train
from tanager.training.noise import Noise
from tanager.training.problem import MOST_EPOCH_ROWS, Problem, StoredProblem, make_problem
from tanager.training.settings import TrainingSettings
from tanager.training.shards import Request, ShardedProblem, ShardSums, Share, Steps, merge_shares
from tanager.training.state import Start, TrainState, initial_state, keep_structure, recode_state, structure_of
from tanager.training.step import Schedule, StepInfo, Stepper

__all__ = [
    "MOST_EPOCH_ROWS",
    "History",
    "Noise",
    "ParentPath",
    "Problem",
    "Request",
    "Schedule",
    "ShardSums",
    "ShardedProblem",
    "Share",
    "Start",
    "StepInfo",
    "Stepper",
    "Steps",
    "StoredProblem",
    "TrainState",
    "TrainingDivergedError",
    "TrainingSettings",
    "initial_state",
    "keep_structure",
    "make_problem",
    "merge_shares",
    "recode_state",
    "structure_of",
    "train",
]
