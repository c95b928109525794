from __future__ import annotations

import pytest
from parity_support import BUILT, Parity

from ckgen.families.common.policy import MPolicy
from plan_support import OWN_TABLES, REAL_TABLES, plan_of


def _parity(policy: MPolicy, tmp_path_factory: pytest.TempPathFactory) -> Parity:
    name = f"parity_{policy.value}"
    plan = plan_of(REAL_TABLES, OWN_TABLES, targets=BUILT, m_policy=policy)
    return Parity(plan, name, tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def ladder_parity(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    return _parity(MPolicy.LADDER, tmp_path_factory)


@pytest.fixture(scope="session")
def aiter_parity(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    return _parity(MPolicy.AITER, tmp_path_factory)


@pytest.fixture(params=list(MPolicy), ids=str)
def parity(request: pytest.FixtureRequest) -> Parity:
    found: Parity = request.getfixturevalue(f"{request.param.value}_parity")
    return found
