import { hash } from 'node:crypto';
import path from 'node:path';
import { z } from 'zod';
import { writeAudit } from '../db/audit-store.ts';
import { inTransaction } from '../db/database.ts';
import { AppError } from '../domain/errors.ts';
import { accountOf } from '../hires/account.ts';
import { jobOf } from '../jobs/job.ts';
import { wantJobs } from '../jobs/job-store.ts';
import { sayCount, stripControl } from '../lib/text.ts';
import { type Files, type ManualFolder, readManuals, toSlug } from '../manuals/manual-folder.ts';
import { type Pushed, type PushOptions, pushManual, pushResults } from '../manuals/push-manual.ts';
import { pullManual, readSpelling } from '../manuals/remote-manual.ts';
import { audiences, manuals, permissions, publications, workspaces } from '../marketplace/contract/instructions.ts';
import { listManuals } from '../marketplace/list-manuals.ts';
import type { Account } from '../marketplace/source.ts';
import { act, type Call, group, type OperationContext, read } from './operation.ts';
import { fieldColumns, table } from './show.ts';
import { count, flag, maybeText, named, text, theInstall } from './values.ts';

/** The manuals of your own accounts, as files in a folder. */

const folder = z
  .record(z.string().max(1000), z.string())
  .describe('The text of each file by its path; on a command line, the folder that has them.')
  .meta({ isFolder: true });

const files = z
  .record(z.string(), z.string().nullable())
  .describe('What to write into the folder; null for a file to delete. The command does it.');

const PushedManual = named('PushedManual', {
  folder: z.string(),
  title: z.string(),
  manualId: maybeText,
  result: z.enum(pushResults),
  changesetId: maybeText,
  changes: z.array(z.object({ page: z.string(), says: z.string() })),
  summary: z.array(z.record(z.string(), z.unknown())).optional().describe('What the marketplace says of a check.'),
  conflicts: z.array(z.string()),
});

type PushedManual = z.output<typeof PushedManual>;

const Answer = z.object({ manuals: z.array(PushedManual), files });

const PushInput = z.strictObject({
  install: theInstall,
  folder,
  replace: flag('Replace a whole page if its changed parts have no ids.'),
  submit: flag('Submit the changes for review.'),
  note: text.optional().describe('What was changed, for the reviewers and the log.'),
  dryRun: flag('Only say what would happen. It ends with 0 without changes, 2 with changes, and 3 in a conflict.'),
});

const answered = {
  asks: 'marketplace',
  isPersonal: true,
  args: ['folder'],
  out: Answer,
  show: ({ manuals: all }: z.output<typeof Answer>) => all.map(sayPushed).join('\n'),
  problems: ({ manuals: all }: z.output<typeof Answer>) => all.flatMap(({ conflicts }) => conflicts),
  status({ manuals: all }: z.output<typeof Answer>) {
    if (all.some(({ result: of }) => of === 'failed')) return 1;
    if (all.some(({ conflicts }) => conflicts.length > 0)) return 3;
    return all.some(({ result: of }) => of === 'would_change') ? 2 : 0;
  },
} as const;

function sayPushed({ title, manualId, result: of, changesetId, changes, summary = [] }: PushedManual): string {
  const what = [manualId, changesetId].filter(Boolean).join(', changeset ');
  return [
    `${title}${what && ` (${what})`}: ${of.replaceAll('_', ' ')}`,
    ...changes.map(({ page, says }) => `  ${page}: ${says}`),
    ...summary.map((page) => `  The marketplace: ${stripControl(JSON.stringify(page))}`),
  ].join('\n');
}

async function push(ctx: OperationContext, { by, signal }: Call, input: z.output<typeof PushInput>) {
  const { install, note, dryRun, submit } = input;
  const acting = submit ? 'submit' : 'apply';
  const mode = dryRun ? 'check' : acting;
  const account = accountOf(ctx, install);
  const folders = readManuals(input.folder);
  if (folders.length === 0) throw new AppError('invalid', 'There is no manual.json: pull, or make one with a title');
  const options: PushOptions = { mode, note, replaces: input.replace, spell: await readSpelling(account, signal) };
  if (mode !== 'check') await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'manuals push', install));
  const pushed: (PushedManual & Pick<Pushed, 'files'>)[] = [];
  for (const one of folders) {
    signal.throwIfAborted();
    const pushing = pushManual(account, input.folder, one, options, signal);
    pushed.push({ folder: one.folder, title: one.title, ...(await pushing) });
  }
  return {
    manuals: pushed.map(({ files: _, ...one }) => one),
    files: Object.assign({}, ...pushed.map((one) => one.files)),
  };
}

const oneManual = { install: theInstall, manual: text.describe('The id of the manual.') };

const Revision = z.object({ revision: count, at: maybeText, says: maybeText, published: maybeText });

export const operations = group('manuals', {
  pull: act(
    'POST /installs/{install}/manuals/pull',
    'Bring the manuals into a folder, and keep what was edited there',
    {
      asks: 'marketplace',
      isPersonal: true,
      args: ['folder'],
      in: z.strictObject({ install: theInstall, folder }),
      out: z.object({ pulled: count, conflicts: z.array(z.string()), files }),
      async run({ install, folder: given }, ctx, { signal }) {
        const account = accountOf(ctx, install);
        const local = readManuals(given);
        const all = await listFolders(account, given, local, signal);
        const unseen = local.filter(({ id }) => id !== undefined && all.every(({ manualId }) => manualId !== id));
        const refreshed = [];
        for (const { manual, ...ids } of all) refreshed.push(await pullManual(account, manual, ids, signal));
        const conflicts = [...refreshed.flatMap((one) => one.conflicts), ...unseen.map(sayUnseen)];
        return { pulled: all.length, conflicts, files: Object.assign({}, ...refreshed.map((one) => one.files)) };
      },
      show: ({ pulled }) => `Pulled ${sayCount(pulled, 'manual')}.`,
      problems: ({ conflicts }) => conflicts,
      status: ({ conflicts }) => (conflicts.length > 0 ? 3 : 0),
    },
  ),
  diff: act('POST /installs/{install}/manuals/diff', 'Show what a push would change, page by page', {
    ...answered,
    in: PushInput.pick({ install: true, folder: true, replace: true }),
    run: (input, ctx, call) => push(ctx, call, { ...input, submit: false, dryRun: true }),
  }),
  push: act('POST /installs/{install}/manuals/push', 'Change each manual to what its files say, or not at all', {
    ...answered,
    in: PushInput,
    run: (input, ctx, call) => push(ctx, call, input),
  }),
  publish: act('POST /installs/{install}/manuals/{manual}/publish', 'Publish a manual, so that trainers read it', {
    asks: 'marketplace',
    in: z.strictObject({
      ...oneManual,
      audience: z.array(z.enum(audiences)).min(1).default(['WORKER']).describe('For whom; repeatable.'),
      revision: z.int().min(1).optional().describe('The latest by default.'),
      note: text.optional().describe('What is new in it.'),
    }),
    out: z.object({ manualId: z.string(), publicationNumber: count, revision: count }),
    async run({ install, manual: manualId, audience, revision, note }, ctx, { by, signal }) {
      const { call, listWhole } = accountOf(ctx, install);
      const { head } = (await call(manuals.get, { manualId }, signal)).manual;
      const baseRevisionNumber = revision ?? head?.revisionNumber;
      if (baseRevisionNumber === undefined) throw new AppError('invalid', 'Name the revision: --revision');
      const input = { manualId, baseRevisionNumber, audiences: audience, ...(note && { note }) };
      const all = await listWhole(publications.list, { manualId }, signal);
      const [last] = all.toSorted((one, other) => other.publicationNumber - one.publicationNumber);
      const isSame = last?.baseRevisionNumber === baseRevisionNumber && last.audiences.join() === audience.join();
      // A repeat makes no second one, and an older revision can be published again.
      const done = isSame ? last : undefined;
      const idempotencyKey = hash('sha256', JSON.stringify([input, last?.publicationNumber]));
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'manuals publish', `${install}/${manualId}`));
      const publication = done ?? (await call(publications.create, input, signal, { idempotencyKey })).publication;
      // The guidelines follow at once.
      const readers = [...ctx.installs].flatMap(([name, { guidelines }]) => (guidelines ? [jobOf(name)] : []));
      await inTransaction(ctx.database, (tx) => wantJobs(tx, 'guidelines', readers, by.at));
      return { manualId, publicationNumber: publication.publicationNumber, revision: baseRevisionNumber };
    },
    show: ({ manualId, ...of }) =>
      `Published revision ${of.revision} of ${manualId} as number ${of.publicationNumber}.`,
  }),
  restore: act('POST /installs/{install}/manuals/{manual}/restore', 'Make an earlier revision of a manual the latest', {
    asks: 'marketplace',
    args: ['manual', 'revision'],
    in: z.strictObject({ ...oneManual, revision: z.int().min(1).describe('Its number.') }),
    out: z.object({ manualId: z.string(), revision: count.nullable() }),
    async run({ install, manual: manualId, revision }, ctx, { by, signal }) {
      const { call } = accountOf(ctx, install);
      const { head } = (await call(manuals.get, { manualId }, signal)).manual;
      const extras = { idempotencyKey: hash('sha256', JSON.stringify([manualId, revision, head])) };
      await inTransaction(ctx.database, (tx) => writeAudit(tx, by, 'manuals restore', `${install}/${manualId}`));
      const restored = await call(manuals.restore, { manualId, revisionNumber: String(revision) }, signal, extras);
      return { manualId, revision: restored.manual.head?.revisionNumber ?? null };
    },
    show: ({ manualId, revision }) => `${manualId} is restored as revision ${revision ?? '?'}.`,
  }),
  log: read(
    'GET /installs/{install}/manuals/{manual}/log',
    'List the revisions of a manual, and which were published',
    {
      asks: 'marketplace',
      in: z.strictObject(oneManual),
      out: z.object({ items: z.array(Revision) }),
      async run({ install, manual: manualId }, ctx, { signal }) {
        const { listWhole } = accountOf(ctx, install);
        const made = await listWhole(manuals.revisions, { manualId }, signal);
        const published = await listWhole(publications.list, { manualId }, signal);
        const items = made.map(({ revisionNumber: revision, createdAt: at, description: says }) => {
          const of = published.filter(({ baseRevisionNumber }) => baseRevisionNumber === revision);
          const texts = of.map(
            ({ publicationNumber, audiences: to }) => `number ${publicationNumber} for ${to.join(', ')}`,
          );
          return { revision, at, says, published: texts.join('; ') || null };
        });
        return { items };
      },
      show: table(fieldColumns('revision', 'at', 'says', 'published'), 'The manual has no revision.'),
    },
  ),
  permissions: read('GET /installs/{install}/workspaces/permissions', 'List who may use which workspace with manuals', {
    asks: 'marketplace',
    in: z.strictObject({ install: theInstall }),
    out: z.object({ items: z.array(z.object({ workspace: z.string(), user: z.string(), role: z.string() })) }),
    async run({ install }, ctx, { signal }) {
      const { listWhole } = accountOf(ctx, install);
      const items = [];
      for (const { id: workspaceId, name } of await listWhole(workspaces.list, {}, signal)) {
        const all = await listWhole(permissions.list, { workspaceId }, signal);
        items.push(...all.map(({ principalId: user, role }) => ({ workspace: name ?? workspaceId, user, role })));
      }
      return { items };
    },
    show: table(fieldColumns('workspace', 'user', 'role'), 'The account has no workspace.'),
  }),
});

function sayUnseen(manual: ManualFolder): string {
  return `${manual.folder}: The account does not see this manual. Ask for a role in its workspace, or delete the folder`;
}

/** The folder of each manual of the account, which is new for a new one. */
async function listFolders(account: Account, given: Files, local: readonly ManualFolder[], signal: AbortSignal) {
  const byId = new Map(local.map((one) => [one.id, one]));
  const taken = new Set(local.map((one) => one.folder));
  return (await listManuals(account, signal)).map(({ id: manualId, title, workspaceId, workspace }) => {
    const slug = path.posix.join(toSlug(workspace), toSlug(title ?? manualId));
    const isTaken = taken.has(slug) || Object.keys(given).some((name) => name.startsWith(`${slug}/`));
    const place = isTaken ? `${slug}-${toSlug(manualId)}` : slug;
    const fresh = {
      folder: place,
      title: title ?? manualId,
      bindings: [],
      revision: 0,
      pages: [],
      local: [],
      jsons: new Map(),
      unmerged: [],
    };
    const manual = byId.get(manualId) ?? fresh;
    taken.add(manual.folder);
    return { manual, manualId, workspaceId };
  });
}
