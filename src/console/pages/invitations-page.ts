import { html } from 'hono/html';
import { takeInvitation } from '../../converge/handover-store.ts';
import { AppError } from '../../domain/errors.ts';
import { toInstant } from '../../lib/clock.ts';
import { maskText } from '../../lib/mask.ts';
import type { OperationContext } from '../../operations/operation.ts';
import { listWaiting, type WaitedFor, type WaitingMember } from '../../operator/list-waiting.ts';
import { type Act, type Asked, formOf, type Page, type View } from '../page.ts';
import { instantOf } from '../view/instant.ts';
import { type Column, tableOf } from '../view/table.ts';

/** Who waits for an invitation to be handed over. An operator is shown it once, and it is not kept. */
export const invitationViews: readonly View[] = [{ path: '/invitations', show: showInvitations }];

export const invitationActs: readonly Act[] = [{ path: '/invitations/:id', act: showOnce }];

const mostListed = 1000;

const words: Record<WaitedFor, string> = {
  work_email: 'a work email',
  mail: 'the mail server',
  operator: 'you to send it',
  new_invitation: 'a new invitation',
  renewal: 'you to renew it: it expired',
};

const waitingColumns: readonly Column<WaitingMember>[] = [
  [
    'Trainer',
    ({ id, displayName, trainerId }) =>
      html`<a href="/memberships/${id}">${maskText(displayName ?? trainerId)}</a><small class="id">${trainerId}</small>`,
  ],
  ['Project', ({ groupId, tool }) => html`${maskText(groupId)}<small>${tool}</small>`],
  ['Waiting for', ({ waitsFor }) => words[waitsFor]],
  ['Expires', ({ invitation }) => instantOf(invitation?.expiresAt)],
  ['Problem', ({ invitation }) => (invitation?.failure ? maskText(invitation.failure) : '')],
];

async function showInvitations(asked: Asked, ctx: OperationContext): Promise<Page> {
  const { config, clock } = ctx;
  const now = toInstant(clock.now());
  const { managedDomains } = config.marketplace;
  const wish = { limit: mostListed, managedDomains, hasMail: config.mail !== undefined, now };
  const waiting = (await listWaiting(ctx, wish)).filter(({ invitation }) => invitation !== null);
  const act: Column<WaitingMember> = ['Send', (member) => buttonOf(asked, member)];
  const columns = asked.operator.role === 'operator' ? [...waitingColumns, act] : waitingColumns;
  return {
    title: 'Invitations',
    body: html`
      <p>An invitation is shown once. Open it when you are ready to send it on.</p>
      ${tableOf('Trainers who are waiting for their login', waiting, columns, noInvitations)}
    `,
  };
}

const noInvitations = 'No invitation is waiting. One appears here when neither the tool nor your mail server sends it.';

function buttonOf(asked: Asked, { id, waitsFor, trainerId }: WaitingMember) {
  if (waitsFor !== 'operator' && waitsFor !== 'mail') return '';
  const label = `Show once: the invitation of ${trainerId}`;
  return formOf(asked, `/invitations/${id}`, html`<button aria-label="${label}">Show once</button>`);
}

/** It answers with the page itself, as an address that shows it again must not exist. */
async function showOnce({ params, by }: Asked, ctx: OperationContext): Promise<Page> {
  const text = params['id'] ?? '';
  if (!/^[1-9]\d{0,14}$/.test(text)) throw new AppError('not_found', `There is no membership ${text}`);
  const { content, expiresAt } = await takeInvitation(ctx, Number(text), by);
  const rows: [string, string | null][] =
    content.kind === 'link'
      ? [['Link', content.url]]
      : [
          ['Address', content.url],
          ['User name', content.username],
          ['Password', content.password],
        ];
  const known = rows.filter(([, value]) => value !== null);
  return {
    title: 'Invitation',
    body: html`
      <p class="warn">Send it now. It won't be shown again.</p>
      <dl class="sheet">
        ${known.map(([title, value]) => html`<dt>${title}</dt><dd><code id="copy-${title.replace(' ', '-')}">${value}</code> <button type="button" class="copy" data-copies="copy-${title.replace(' ', '-')}">Copy</button></dd>`)}
        ${expiresAt !== null && html`<dt>Expires</dt><dd>${instantOf(expiresAt)}</dd>`}
      </dl>
      <p><a href="/invitations">All invitations</a></p>
    `,
  };
}
