import { everyOrder, type Mutant, mutate } from './mutant.ts';

/** Who is wanted where, and since when no longer. */
export const mutantsOfMemberships: readonly Mutant[] = [
  ...mutate(
    'src/domain/standing.ts',
    [everyOrder, 'test/domain/standing.test.ts'],
    [
      [
        'A weak end waits',
        "const dueAt = after(endedWithGrant || cause === 'grant_revoked' ? revokedGraceMs : graceMs);",
        'const dueAt = since;',
      ],
      [
        'A revoked grant waits a day',
        "after(endedWithGrant || cause === 'grant_revoked' ? revokedGraceMs : graceMs)",
        'after(graceMs)',
      ],
      [
        'A delivered end acts at once',
        "  'contract_ended',\n  'contract_read_ended',\n  'contract_ended_by_operator',\n  'retired',\n]);",
        "  'contract_read_ended',\n  'contract_ended_by_operator',\n  'retired',\n]);",
      ],
      ['A removed link is no outright end', "  'retired',\n]);", "  'retired',\n  'link_removed',\n]);"],
      ['An outright end comes before a weak one', 'return outrightFirst || Date', 'return Date'],
      ['What is not known is no reason', 'if (ends.length === 0 && canStand(facts))', 'if (ends.length === 0)'],
      [
        'A trainer who left is no longer on the contract',
        "participation && toEnd('participation_left', leftSince(participation)),",
        '',
      ],
      ['A contract that moved has left its link', "pair && toEnd('contract_moved', movedSince(pair)),", ''],
      [
        'The removal of a link waits longer for a successor',
        'return { cause, since, dueAt, dueWithSuccessorAt: after(revokedGraceMs * (endedWithGrant ? 2 : 1)) };',
        'return { cause, since, dueAt, dueWithSuccessorAt: dueAt };',
      ],
    ],
  ),
  ...mutate(
    'src/domain/membership.ts',
    ['test/domain/membership.test.ts', everyOrder],
    [
      [
        'Each change of mind is a new generation',
        "if (!current.wanted || state === 'orphaned') return toWanted(generation + 1,",
        "if (!current.wanted || state === 'orphaned') return toWanted(generation,",
      ],
      ['What the brake has decided is not decided anew', '  if (removeAfter === null) return current;\n', ''],
      [
        'Who is found again does not pass by the old end',
        "if (current.cause === 'found_again') return resume(current);",
        '',
      ],
      [
        'Who never was in a tool need not be removed',
        "if (!wasTouched) return toGone(current, 'removed');\n    return",
        'return',
      ],
      [
        'Only a member of ours is removed',
        "if (isOurs) return { act: 'call', operation: 'remove' };",
        "return { act: 'call', operation: 'remove' };",
      ],
      ['A protected account is never touched', 'if (isFound && isProtected)', 'if (!isFound && isProtected)'],
      [
        'A new address is a new attempt',
        "const isOpen = state === 'failed' ||",
        "const isOpen = state === 'invited' ||",
      ],
      [
        'A plan is about the evidence that it held',
        "if (state === 'held' && verdict.cause !== current.cause)",
        "if (state === 'held')",
      ],
    ],
  ),
  ...mutate(
    'src/memberships/judge-membership.ts',
    [everyOrder, 'test/memberships/judge-membership.test.ts'],
    [
      ['Access falls with the last reason', 'a.dueAt > b.dueAt;', 'a.dueAt < b.dueAt;'],
      [
        'Configuration ends nothing',
        "if (isOrphaned || !reasons.some(({ isRouted }) => isRouted)) return { kind: 'orphaned' };",
        '',
      ],
      ['A project has a successor only by its own customer', 'successor.install === reason.install &&', ''],
      [
        'Of the links to one project the last that ended counts',
        'ends = all.filter((end) => !all.some((other) => tookOver(other, end)))',
        'ends = all',
      ],
      [
        'Only what we provision is a reason for us',
        "standing.stands && isRouted && provisioning === 'ours'",
        'standing.stands && isRouted',
      ],
      ['A link may take over until its contracts are read', 'if (!areContractsRead(successor)) return true;', ''],
    ],
  ),
  ...mutate(
    'src/memberships/plan-memberships.ts',
    [everyOrder, 'test/stories/memberships/incidents-orphans.test.ts'],
    [
      [
        'Reasons that stand are recorded',
        '.filter((reason) => (recorded.get(reasonKey(reason))?.isNamed ?? -1) < reason.isNamed)',
        '.filter((reason) => recorded.has(reasonKey(reason)))',
      ],
      [
        'Without an address nobody is added',
        "const hasEmail = verdict.kind === 'wanted' && named !== null;",
        "const hasEmail = verdict.kind === 'wanted';",
      ],
    ],
  ),
  ...mutate(
    'src/memberships/plan-memberships.ts',
    [
      everyOrder,
      'test/stories/memberships/incidents-orphans.test.ts',
      'test/stories/memberships/incidents-pauses.test.ts',
    ],
    [
      [
        'Who was found in the tool may be there',
        'return isOurs || memberId !== null ||',
        'return (isOurs && memberId === null) ||',
      ],
      ['A forgotten call may have let them in', ' || lateUntil !== null;', ';'],
      [
        'A former name of an install is no other customer',
        'return reasons.filter((old) => old.isRouted || !routed.some((one) => isOldNameOf(old, one)));',
        'return reasons;',
      ],
    ],
  ),
  ...mutate(
    'src/reconcile/read/install-state-store.ts',
    ['test/stories/memberships/incidents-pauses.test.ts'],
    [
      [
        'An end before a restore is noticed has the trainer looked for',
        'await reopenUntouched(tx, aliveAt, now)',
        '[]',
      ],
    ],
  ),
  ...mutate(
    'src/reconcile/runs/unplaced-store.ts',
    ['test/stories/memberships/incidents-orphans.test.ts'],
    [
      [
        'Where a link leads to a group by now, those of before get access',
        'ctx.routeLink({ install, ...link }) !== undefined',
        'ctx.routeLink({ install, ...link }) === undefined',
      ],
    ],
  ),
  ...mutate(
    'src/memberships/share-seat.ts',
    [everyOrder, 'test/memberships/share-seat.test.ts'],
    [
      ['An install never moves the access of another', 'named.has(current) || named.size > 1', 'named.has(current)'],
      [
        'An install stays with the access that its address has given',
        'own.find(({ installs }) => installs.get(install)?.isNamed) ??',
        '',
      ],
      ['A new install joins the access with its address', ' ?? memberships.find(hasAddress)', ''],
      [
        'A reason without an address keeps the access that others gave',
        'return given.size > 0 ? [...given] : [waiting];',
        'return [waiting];',
      ],
      [
        'A reason without an address opens no access',
        'memberships.filter(({ address, isOpen }) => address !== null && isOpen)',
        'memberships.filter(({ address }) => address !== null)',
      ],
      [
        'An install without an address keeps to the access that its own address gave',
        'if (own !== undefined) return [own.id];',
        '',
      ],
    ],
  ),
  ...mutate(
    'src/memberships/wall.ts',
    ['test/memberships/link-router.test.ts'],
    [
      ['What is named whole belongs to whom it names', '> closeness,', '> closeness + Number.MAX_VALUE,'],
      [
        'An id that a tool may resolve elsewhere is outside',
        "return isStrange(projectId) ? 'strange_id' : null;",
        'return null;',
      ],
      ['Ids that differ in case alone are one', '    .toLowerCase()\n    .toUpperCase();', ';'],
      ['What no pattern names is outside', "if (closeness < 0) return 'not_named';", ''],
    ],
  ),
];
