import type { Mutant } from '../mutants/mutant.ts';
import type { Leaning } from './plan.ts';

/** Rules that only a running system can break: between statements, processes and readings. */
export interface LiveMutant extends Omit<Mutant, 'tests'> {
  /** Whether it only shows in steps that take many hours to recover from. */
  isSlow?: boolean;
  /** Whether it only shows within weeks. */
  isQuiet?: boolean;
  leaning: Leaning;
}

export const liveMutants: readonly LiveMutant[] = [
  {
    rule: 'A removal waits until the marketplace was asked',
    file: 'src/removals/reading-store.ts',
    find: 'const passing = removals.filter(({ required }) => required === null);',
    replace: "const passing = removals.filter(({ required }) => required === null || required.stage === 'lists');",
    leaning: { often: ['hire', 'renew_unheard', 'marketplace_busy'] },
  },
  {
    rule: 'One absence proves nothing',
    file: 'src/domain/evidence.ts',
    find: 'return since.find((at) => Date.parse(at) - Date.parse(first) >= apartMs) ?? null;',
    replace: 'return first;',
    isSlow: true,
    leaning: { often: ['pair', 'answers_miss'] },
  },
  {
    rule: 'The brake holds what is more than it allows',
    file: 'src/domain/brake.ts',
    find: 'const passes = used + weighed.length <= allowed;',
    replace: 'const passes = used + weighed.length >= 0 * allowed;',
    isSlow: true,
    leaning: { often: ['crew', 'unlink'], hasBrake: true },
  },
  {
    rule: 'A customer reaches only the projects that are named as theirs',
    file: 'src/memberships/wall.ts',
    find: "if (closeness < 0) return 'not_named';\n  const folded = fold(externalProjectId);",
    replace: 'const folded = fold(externalProjectId);\n  if (folded !== null) return null;',
    leaning: { often: ['foreign_link'] },
  },
  {
    rule: 'What is leased is left to the one who has it',
    file: 'src/converge/claim-store.ts',
    find: `      isFree('membership', now),
      isWorkable(eb),
      eb.not(isHeldBack(eb)),
      ...exclusiveBy.map((column) => eb.not(isWorkedOn(eb, column, now))),
`,
    replace: '      isWorkable(eb),\n      eb.not(isHeldBack(eb)),\n',
    leaning: { often: ['crew', 'tool_busy', 'tool_slow'] },
  },
  {
    rule: 'The intent is committed before the call',
    file: 'src/converge/settle-store.ts',
    find: 'await recordAccessGiven(tx, claim, intent, now);\n    return unsharedAccount;',
    replace: 'return unsharedAccount;',
    leaning: { often: ['killed'] },
  },
  {
    rule: 'A delivery is stored before it is answered',
    file: 'src/http/receiver/receiver-app.ts',
    find: `const status = await store(route, install, request, body);`,
    replace: `const status = 'accepted';
  store(route, install, request, body).catch(() => undefined);`,
    leaning: { often: ['killed', 'disk_full'] },
  },
  {
    rule: 'An id is believed only with an address',
    file: 'src/converge/ownership.ts',
    find: "if (found.email !== null && isAmong(addresses, found.email)) return 'confirmed';",
    replace: "if (found.email !== null || isAmong(addresses, '')) return 'confirmed';",
    isSlow: true,
    leaning: { often: ['crew', 'end', 'tool_restored'], traits: { findsById: true, endsAccounts: true } },
  },
  {
    rule: 'A call without an answer may still arrive',
    file: 'src/converge/claim-store.ts',
    find: 'lateUntil: leasedUntil,',
    replace: 'lateUntil: null,',
    leaning: { often: ['tool_is_late', 'briefly'], traits: { lists: false } },
  },
  {
    rule: 'Only a member of ours is removed',
    file: 'src/domain/membership.ts',
    find: "if (isOurs) return { act: 'call', operation: 'remove' };",
    replace: "return { act: 'call', operation: 'remove' };",
    leaning: { often: ['hand_adds', 'end'] },
  },
  {
    rule: 'One look that finds nobody is no proof',
    file: 'src/converge/converge-result.ts',
    find: '  const unconfirmed = { lateUntil, missedAt: since };\n  if (missedAt !== null && lookedAt >= confirmsAt) return',
    replace: '  const unconfirmed = { lateUntil, missedAt: null };\n  if (missedAt !== null || confirmsAt) return',
    leaning: { often: ['tool_misses', 'end'], traits: { lists: false } },
  },
  {
    rule: 'A call that was answered is read back',
    file: 'src/converge/converge-steps.ts',
    find: '    const { found: member } = await look(ctx, claim, person);\n    // Another',
    replace:
      '    const { found: member } = claim.wanted ? { found: { id: person.memberId ?? "", email: person.email } } : { found: null };\n    // Another',
    leaning: { often: ['tool_lies', 'end'] },
  },
  {
    rule: 'Each change of mind is a new generation',
    file: 'src/domain/membership.ts',
    find: "if (!current.wanted || state === 'orphaned') return toWanted(generation + 1,",
    replace: "if (!current.wanted || state === 'orphaned') return toWanted(generation,",
    leaning: { often: ['rehire', 'tool_busy'], traits: { lists: false } },
  },
  {
    rule: 'The feed is moved on after its page is stored',
    file: 'src/reconcile/feed/feed-job.ts',
    find: '  await store(ctx, ports, install, updates, readAt);\n  await keepFeed(ctx, feed, { cursor, readAt });',
    replace: '  await keepFeed(ctx, feed, { cursor, readAt });\n  await store(ctx, ports, install, updates, readAt);',
    leaning: { often: ['hire', 'events_lost', 'disk_full'] },
  },
  {
    rule: 'A weak end waits',
    file: 'src/domain/standing.ts',
    find: "const dueAt = after(endedWithGrant || cause === 'grant_revoked' ? revokedGraceMs : graceMs);",
    replace: 'const dueAt = since;',
    isSlow: true,
    leaning: { often: ['unlink', 'replace'] },
  },
  {
    rule: 'What has ended is known to have ended for ever',
    file: 'src/evidence/evidence-store.ts',
    find: '.set({ title: null, titleVersion: null })',
    replace: '.set({ title: null, titleVersion: null, endedEventAt: null, endedReadAt: null })',
    isQuiet: true,
    leaning: { often: ['hire', 'end', 'told_again'] },
  },
  {
    rule: 'What is ours in a tool goes with its new name',
    file: 'src/tools/bind-tool.ts',
    find: 'const isCarried = await inTransaction(ctx.database, (tx) => renameToolBinding(ctx, tx, from, to.tool));',
    replace:
      'const isCarried = ctx === undefined && (await inTransaction(ctx.database, (tx) => renameToolBinding(ctx, tx, from, to.tool)));',
    leaning: { often: ['tool_renamed', 'hire', 'end'] },
  },
  {
    rule: 'Two names of one server are refused',
    file: 'src/tools/bind-tool.ts',
    find: "    if (twin !== undefined) throw new AppError('invalid', describeTwin(tool, twin[0]));\n    seen.push",
    replace: '    if (twin === null) throw new Error();\n    seen.push',
    leaning: { often: ['two_names', 'hire', 'end'] },
  },
  {
    rule: 'Who is adopted is ours',
    file: 'src/memberships/ownership-store.ts',
    find: '{ isOurs: true, releasedBy: null, ...next }',
    replace: '{ releasedBy: null, ...next }',
    isSlow: true,
    leaning: { often: ['database_lost', 'adopt_found', 'end'] },
  },
];
