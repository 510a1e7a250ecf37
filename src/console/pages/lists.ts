import { html } from 'hono/html';
import { actButton, askLink } from '../act.ts';
import { listViews } from '../list.ts';
import type { PageRequest, View } from '../page.ts';
import type { HtmlColumn } from '../view/table.ts';

/** The lists of the console. Filter, columns, pages and file of each are those of its operation. */
export const lists: readonly View[] = [
  {
    path: '/access',
    title: 'Access',
    asks: 'accessSearch',
    filter: ['q', 'state', 'install', 'tool', 'leaving'],
  },
  {
    path: '/contracts',
    title: 'Contracts',
    asks: 'contractsList',
    filter: ['install', 'status', 'budget', 'suspects'],
  },
  {
    path: '/deliveries',
    title: 'Deliveries',
    asks: 'deliveriesList',
    below: (request: PageRequest) => {
      const given = Object.fromEntries([...request.query].filter(([name, value]) => name !== 'cursor' && value !== ''));
      const button = { label: 'Replay all that match, 1,000 at most' };
      return actButton(request, 'deliveriesReplay', { ...given, matching: true }, button);
    },
  },
  { path: '/budgets', title: 'Budgets', asks: 'budgetsList' },
  { path: '/plans', title: 'Removals on hold', asks: 'plansList' },
  {
    path: '/drift',
    title: 'Drift',
    asks: 'driftList',
    intro:
      'How the members of each group differ from the memberships that Gangway knows, by the latest complete listing. Nobody is removed for being listed here, except someone whom Gangway removed before and who is back.',
    acts: () => html`<a class="button" href="/drift/groups">Groups</a>`,
  },
  { path: '/drift/groups', title: 'Listed groups', asks: 'driftGroups' },
  {
    path: '/installs',
    title: 'Customers',
    asks: 'installsList',
    acts: ({ operator }: PageRequest) =>
      operator.role === 'operator' ? html`<a class="button main" href="/connect">Connect a customer</a>` : '',
  },
  {
    path: '/invitations',
    title: 'Invitations',
    asks: 'membersWaiting',
    intro: 'An invitation is shown once. Open it when you are ready to send it on.',
    rowActs: (request: PageRequest) => [
      ['send', (member: WaitingMember) => sendOf(request, member)] satisfies HtmlColumn<WaitingMember>,
    ],
  },
  { path: '/notifications', title: 'Alerts', asks: 'notificationsList' },
  { path: '/acts', title: 'Audit log', asks: 'auditList' },
].flatMap(listViews);

interface WaitingMember {
  id: number;
  trainerId: string;
  waitsFor: string;
}

function sendOf(request: PageRequest, { id, waitsFor, trainerId }: WaitingMember) {
  if (waitsFor === 'renewal') return askLink(request, 'membersRenew', { membership: String(id) }, 'Renew');
  if (waitsFor !== 'operator' && waitsFor !== 'mail') return '';
  const about = `Show once: the invitation of ${trainerId}`;
  return actButton(request, 'membersInvitation', { membership: id }, { label: 'Show once', about });
}
