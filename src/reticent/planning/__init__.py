"""Planning: how many answers, how exact, how private; and a simulation that checks it."""

from reticent.planning.number_plans import NumberPlan
from reticent.planning.number_rows import NumberRow
from reticent.planning.one_channel import PlanRow
from reticent.planning.plans import Plan, plan
from reticent.planning.simulation import Simulation, simulate

__all__ = ["NumberPlan", "NumberRow", "Plan", "PlanRow", "Simulation", "plan", "simulate"]
