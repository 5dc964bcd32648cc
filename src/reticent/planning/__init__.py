"""Planning: how many answers, how exact, how private; and a simulation that checks it."""

from reticent.planning.one_channel import PlanRow
from reticent.planning.plans import Plan, plan
from reticent.planning.simulation import Simulation, simulate

__all__ = ["Plan", "PlanRow", "Simulation", "plan", "simulate"]
