"""The simulator: real machines over a simulated wire, disk and clock, all from one seed."""

from lace.drive.sim.day import Outcome, Simulation, simulate
from lace.drive.sim.invariants import InvariantBroken
from lace.drive.sim.policies import POLICIES, SimPolicy
from lace.drive.sim.ring import Ring, simulate_ring
from lace.drive.sim.world import SimulatedFault

__all__ = [
    "POLICIES",
    "InvariantBroken", "Outcome", "Ring", "SimPolicy", "SimulatedFault", "Simulation",
    "simulate", "simulate_ring",
]  # fmt: skip
