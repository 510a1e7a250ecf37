import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { accountOf } from '../hires/account.ts';
import { conflictsIn, explainAll } from '../manuals/push-manual.ts';
import { changesets } from '../marketplace/contract/changesets.ts';
import { workspaces } from '../marketplace/contract/instructions.ts';
import { act, group, read } from './operation.ts';
import { fieldColumns, table } from './show.ts';
import { maybeText, named, text, theInstall } from './values.ts';

/** Changes of manuals that were submitted, which a person approves or rejects. */

const Submitted = named('SubmittedChangeset', {
  id: z.string(),
  workspace: z.string(),
  status: z.string(),
  says: maybeText,
  submittedAt: maybeText,
});

const ofDecision = {
  asks: 'marketplace',
  in: z.strictObject({
    install: theInstall,
    changeset: text.describe('Its id.'),
    note: text.optional().describe('Why.'),
  }),
  out: z.object({ id: z.string(), status: z.string(), conflicts: z.array(z.string()) }),
  show: ({ id, status }: { id: string; status: string }) => `The changeset ${id} is ${status.toLowerCase()}.`,
  problems: ({ conflicts }: { conflicts: string[] }) => conflicts,
  status: ({ conflicts }: { conflicts: string[] }) => (conflicts.length > 0 ? 3 : 0),
} as const;

function toChange({ kind, title, pageId }: Record<string, unknown>) {
  return { page: String(title ?? pageId), says: String(kind).toLowerCase().replaceAll('_', ' ') };
}

export const operations = group('review', {
  list: read('GET /installs/{install}/changesets', 'List the submitted changes of manuals', {
    asks: 'marketplace',
    in: z.strictObject({ install: theInstall, status: text.optional().describe('Such as SUBMITTED.') }),
    out: z.object({ items: z.array(Submitted) }),
    async run({ install, status }, ctx, { signal }) {
      const { listWhole } = accountOf(ctx, install);
      const items = [];
      for (const { id: workspaceId, name } of await listWhole(workspaces.list, {}, signal)) {
        for (const { id, ...one } of await listWhole(changesets.list, { workspaceId, status }, signal)) {
          const { status: of, description: says, createdAt: submittedAt } = one;
          items.push({ id, workspace: name ?? workspaceId, status: of, says, submittedAt });
        }
      }
      return { items };
    },
    show: table(fieldColumns('id', 'workspace', 'status', 'says', 'submittedAt'), 'Nothing was submitted.'),
  }),
  approve: act('POST /installs/{install}/changesets/{changeset}/approve', 'Approve submitted changes, and apply them', {
    ...ofDecision,
    async run({ install, changeset: changesetId, note }, ctx, { by, signal }) {
      const { call } = accountOf(ctx, install);
      const { status, operations: all = [] } = (await call(changesets.get, { changesetId }, signal)).changeset;
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'review approve', `${install}/${changesetId}`));
      const decision = { changesetId, decisionNote: note };
      if (status === 'APPLIED') return { id: changesetId, status, conflicts: [] };
      if (status !== 'APPROVED') await call(changesets.approve, decision, signal);
      try {
        await call(changesets.applyStored, { changesetId }, signal);
        return { id: changesetId, status: 'APPLIED', conflicts: [] };
      } catch (error) {
        return { id: changesetId, status: 'CONFLICTED', conflicts: explainAll(conflictsIn(error), all.map(toChange)) };
      }
    },
  }),
  reject: act('POST /installs/{install}/changesets/{changeset}/reject', 'Reject submitted changes', {
    ...ofDecision,
    async run({ install, changeset: changesetId, note }, ctx, { by, signal }) {
      const { call } = accountOf(ctx, install);
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'review reject', `${install}/${changesetId}`));
      const { status } = (await call(changesets.reject, { changesetId, decisionNote: note }, signal)).changeset;
      return { id: changesetId, status, conflicts: [] };
    },
  }),
});
