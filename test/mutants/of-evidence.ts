import { everyOrder, type Mutant, mutate } from './mutant.ts';

/** What is known: registers, their merging, and what a delivery or a reading adds. */
export const mutantsOfEvidence: readonly Mutant[] = [
  ...mutate(
    'src/domain/evidence.ts',
    [everyOrder, 'test/domain/absences.test.ts'],
    [
      [
        'One absence proves nothing',
        'return since.find((at) => Date.parse(at) - Date.parse(first) >= apartMs) ?? null;',
        'return first;',
      ],
      ['Absences count from 10 minutes apart', 'const apartMs = 10 * 60_000;', 'const apartMs = 60_000;'],
      [
        'An observation after an absence takes it back',
        'const since = listAbsences(absences).filter((at) => lastSeenAt === null || at > lastSeenAt);',
        'const since = listAbsences(absences);',
      ],
      ['The last absences are kept', '.sort().slice(-kept)', '.sort().slice(0, kept)'],
      ['Of 10 minutes the latest absence is kept', 'same < at', 'same > at'],
    ],
  ),
  ...mutate(
    'src/domain/evidence.ts',
    [everyOrder, 'test/domain/merge-registers.test.ts'],
    [
      ['A register is at its maximum', 'return isGreater(b, a) ? b : (a ?? b);', 'return b ?? a;'],
      ['A first time stays the first', "new Set(['firstSeenAt', 'firstActiveReadAt'])", 'new Set([])'],
      ['A reading beats an event', 'return `1:', 'return `0:'],
      ['Ids of events compare as numbers', 'String(number.length)', 'String(0)'],
      [
        'Two sources of one version are settled alike everywhere',
        '(!isGreater(b[version], a[version]) && isGreater(a[name], b[name]))',
        '!isGreater(b[version], a[version])',
      ],
    ],
  ),
  ...mutate(
    'src/domain/evidence-status.ts',
    [everyOrder, 'test/domain/evidence-status.test.ts'],
    [
      ['An end that was read is final', "if (endedReadAt !== null) return 'ended';", ''],
      ['A list may be older than the end by minutes', '>= disputeAfterMs', '>= 0'],
      [
        'A later list contradicts a delivered end',
        'if (wasEnded && !isDisputed(endedEventAt, activeReadAt))',
        'if (wasEnded)',
      ],
      ['A removed link is removed', "if (link.removedEventAt !== null) return 'removed';", ''],
      [
        'A late revocation of an old grant says nothing',
        '.sort((a, b) => compare(b.activeReadAt, a.activeReadAt)',
        '.sort((a, b) => compare(a.activeReadAt, b.activeReadAt)',
      ],
      [
        'A revoked grant that answers again is live',
        'isAfter(current.revokedEventAt, current.activeReadAt) ? current : null',
        'current.revokedEventAt === null ? null : current',
      ],
      ['A listing may miss a link of the last minute', '>= listedAfterMs', '>= 0'],
      [
        'A link that ends with its grant waits as the grant does',
        'return revokedAt !== null && goneAt >= revokedAt;',
        'return false;',
      ],
      [
        'An operator can take an end back',
        'const wasEnded = endedEventAt !== null && isAfter(endedEventAt, reopenedAt);',
        'const wasEnded = endedEventAt !== null;',
      ],
      [
        'A mode that is not known gives no access',
        "return mode === 'MANAGED_ADAPTER' ? 'of_marketplace' : 'unknown';",
        "return mode === 'MANAGED_ADAPTER' ? 'of_marketplace' : 'ours';",
      ],
    ],
  ),
  ...mutate(
    'src/evidence/read-delivery.ts',
    [everyOrder, 'test/evidence/evidence-of-event.test.ts'],
    [
      [
        'A start from long ago gives no access',
        'return isStale ? {} : { startedEventAt: at };',
        'return { startedEventAt: at };',
      ],
      [
        'Nothing happens later than it was received',
        'const at = earlier(event.createdAt ?? receivedAt, receivedAt);',
        'const at = event.createdAt ?? receivedAt;',
      ],
      [
        'An end is an end however old it is',
        "if (type === 'contract.ended') return { endedEventAt: at };",
        "if (type === 'contract.ended') return isStale ? {} : { endedEventAt: at };",
      ],
      [
        'A removed link was not seen by its removal',
        "type === 'project_link.removed' ? { removedEventAt: receivedAt } : seen",
        'seen',
      ],
      ['An old event names nobody', 'if (!isStale) {', 'if (at) {'],
      [
        'A start without an address has its contract read',
        'return hasProject && hasPerson ? null',
        'return hasProject || hasPerson ? null',
      ],
      [
        'A revocation is of the grant that it names',
        'emptyGrant(install, event.resourceId)',
        'emptyGrant(install, install)',
      ],
    ],
  ),
  ...mutate(
    'src/reconcile/read/evidence-of-install.ts',
    [everyOrder, 'test/reconcile/read/evidence-of-install.test.ts'],
    [
      [
        'An empty answer about participants is no evidence',
        'there.size === 0 ? [] : (known.contracts.get(id)?.trainerIds ?? [])',
        '(known.contracts.get(id)?.trainerIds ?? [])',
      ],
      [
        'An empty answer about participants is asked for again',
        'present.length > 0 && !absent.has(id)',
        '!absent.has(id)',
      ],
      [
        'A list without links says nothing of a move',
        'endedIds.has(id) || projectLinkIds.length === 0',
        'endedIds.has(id)',
      ],
      [
        'A contract is not gone from a link of the same job',
        'return jobId === null || jobId !== link.jobId;',
        'return true;',
      ],
      [
        'A link is missed only while the grant is active',
        "grant.status === 'ACTIVE' ? missingLinkIds : []",
        'missingLinkIds',
      ],
      [
        'Contracts are known only from a whole list',
        'isActiveWhole ? withoutUnread(links, unreadLinks) : []',
        'withoutUnread(links, unreadLinks)',
      ],
    ],
  ),
];
