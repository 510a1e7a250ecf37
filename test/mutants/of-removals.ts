import { type Mutant, mutate } from './mutant.ts';

const worker = 'test/removals/removal-worker.test.ts';

/** When a removal may begin, and how it is done. */
export const mutantsOfRemovals: readonly Mutant[] = [
  ...mutate(
    'src/domain/brake.ts',
    ['test/domain/brake.test.ts', worker],
    [
      ['One removal is always allowed, and no second', 'Math.max(1, shareOf', 'Math.max(2, shareOf'],
      ['What waits for an operator counts', 'counts.braked + counts.waiting + ', 'counts.braked + '],
      ['Delivered ends are exempt only up to a rate', 'ends.length + delivered <= max', 'ends.length <= max'],
      [
        'Who cannot return is never removed by weak evidence',
        '!one.canReturn && !isExplicit(one.cause)',
        '!one.canReturn && isExplicit(one.cause)',
      ],
      ['All that is due is held, and not just the excess', 'used + weighed.length <= allowed', 'used + 1 <= allowed'],
      [
        'A share is rounded down',
        'Number((BigInt(whole + decimals) * BigInt(people)) / 10n ** BigInt(decimals.length))',
        'Math.ceil(fraction * people)',
      ],
      ['A member who was there before us is no removal', 'free: due.filter((one) => !one.isOurs),', 'free: [],'],
    ],
  ),
  ...mutate(
    'src/domain/required-readings.ts',
    ['test/domain/required-readings.test.ts'],
    [
      ["An operator's decision needs no reading", 'isByOperator(cause) || ', ''],
      [
        "An operator's decision needs no list",
        'decided: { own: never, neighbour: never, needsLists: false }',
        'decided: { own: never, neighbour: never, needsLists: true }',
      ],
      [
        'A pause after an approval is read first',
        'isApproved === true && derivedAt >=',
        'isApproved === true || derivedAt >=',
      ],
      [
        'After an end the active contracts are listed once',
        'activeListedAt !== null && activeListedAt >= since',
        'activeListedAt === null || activeListedAt >= since',
      ],
      ['A list counts when all else is over', 'hasWaited ? waitsSince : null', 'null'],
      [
        'What was waited for is known when lists are',
        'const hasWaited = installsSince !== null || workSince !== null;',
        'const hasWaited = workSince !== null;',
      ],
      ['A list after an end is not waited for for long', 'after(askedSince, longestLookMs)', 'after(askedSince, 1e9)'],
      [
        'Weak evidence from before a pause is read again',
        'return derivedAt < pause || dueAt <= after(pause, graceMs) ? pause : null;',
        'return null;',
      ],
      ['A neighbour may have missed a hire', 'neighbour: afterSilence,', 'neighbour: never,'],
      [
        'An end from before a silence is read again',
        'delivered: { own: ifOlderThanSilence,',
        'delivered: { own: never,',
      ],
      ['No wait is for ever', ' && now < deadline', ''],
      ['A refused reading is not waited for', 'readings: isRefused ? [] : readings', 'readings'],
      [
        'The work is read after what a pause has hidden',
        '    requireInstalls(rule, end, facts, now, gracePeriods),\n    requireWork(end, facts, now),',
        '    requireWork(end, facts, now),\n    requireInstalls(rule, end, facts, now, gracePeriods),',
      ],
    ],
  ),
  ...mutate(
    'src/removals/removal-worker.ts',
    [
      worker,
      'test/stories/memberships/incidents-renewals.test.ts',
      'test/stories/memberships/incidents-pauses.test.ts',
    ],
    [
      [
        'What is not exempt is decided by what was before',
        'const isCounted = dependsOnCounts(removals, delivered, limits);',
        'const isCounted = false;',
      ],
      [
        'Held is also what was let pass and has not begun',
        'const planned = [...held, ...takenBack];',
        'const planned = [...held];',
      ],
      [
        'Removals that become due together are one plan',
        'now.getTime() - Date.parse(lastAt) < planEveryMs',
        'now.getTime() - Date.parse(lastAt) < 0',
      ],
      [
        'Those that have waited are decided about together',
        'ready.push(...passing.due.map(({ membershipId }) => membershipId));',
        'ready.splice(0, Infinity, ...passing.due.map(({ membershipId }) => membershipId));',
      ],
    ],
  ),
  ...mutate(
    'src/removals/reading-store.ts',
    [worker, 'test/stories/memberships/incidents-pauses.test.ts'],
    [
      [
        'What must wait for a reading waits',
        'const passing = removals.filter(({ required }) => required === null);',
        'const passing = removals;',
      ],
      ['After another pause lists are waited for anew', '= { ...waits, listsSince: null,', '= { ...waits,'],
      ['After a second pause, too', " || (stage !== 'lists' && waits.listsSince !== null);", ';'],
    ],
  ),
  ...mutate(
    'src/reconcile/runs/active-list-job.ts',
    ['test/stories/memberships/incidents-renewals.test.ts'],
    [
      [
        'Before an end it is answered who is on each contract',
        '(participants.get(id) ?? []).length > 0',
        'participants.has(id)',
      ],
    ],
  ),
  ...mutate(
    'src/converge/converge-result.ts',
    ['test/converge/confirm-result.test.ts', 'test/stories/converge/late-calls.test.ts'],
    [
      [
        'A call without an answer may still arrive',
        'return lateUntil !== null && lookedAt < lateUntil;',
        'return false;',
      ],
      [
        'One look that finds nobody is no proof',
        'if (missedAt !== null && lookedAt >= confirmsAt) return',
        'if (lookedAt) return',
      ],
      [
        'What we made stays ours until it is confirmed gone',
        'if (unconfirmed.missedAt === null) return { ...result, unconfirmed };',
        'if (unconfirmed) return { ...result, unconfirmed };',
      ],
    ],
  ),
  ...mutate(
    'src/converge/ownership.ts',
    [
      'test/converge/ownership.test.ts',
      'test/converge/converge-membership.test.ts',
      'test/stories/memberships/ids-given-out-again.test.ts',
      'test/stories/memberships/identity.test.ts',
    ],
    [
      [
        'An id is believed only with an address',
        "if (found.email !== null) return 'in_doubt';",
        "if (found.email !== null) return 'confirmed';",
      ],
      [
        'An account that was made at another time is another',
        'if (isComparable && known !== found.madeAt)',
        'if (isComparable && known === found.madeAt)',
      ],
      [
        'A member with another id is not ours',
        'if (claim.isOurs && found.id === claim.memberId) return true;',
        'if (claim.isOurs) return true;',
      ],
      [
        'An account that was there is not made by us',
        'if (given?.givenAt == null || given.wasAbsent === false) return false;',
        'if (given?.givenAt == null) return false;',
      ],
    ],
  ),
  ...mutate(
    'src/converge/throttle.ts',
    ['test/converge/share-slots.test.ts'],
    [
      ['A tool that does not answer gets half', 'Math.floor(pace.atOnce) / 2', 'Math.floor(pace.atOnce)'],
      ['While others wait nobody gets more than half', 'atLeastOne(slots / 2)', 'slots'],
    ],
  ),
  ...mutate(
    'src/converge/throttle.ts',
    ['test/converge/breaker.test.ts'],
    [['A refused token is the whole tool’s', "errorCode === 'unauthenticated' ||\n", '']],
  ),
];
