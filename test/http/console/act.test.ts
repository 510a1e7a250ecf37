import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ConsoleContext, PageRequest } from '../../../src/http/console/page.ts';
import { acts } from '../../../src/http/console/run-operation.ts';
import type { StartedAct } from '../../../src/http/console/started-acts.ts';

const request = {
  operator: { name: 'otto', role: 'operator' },
  by: { actor: 'otto', at: '2026-03-15T12:00:00.000Z' },
  form: new URLSearchParams({ membership: '1', back: '/invitations' }),
} as PageRequest;

/** An act that takes longer than the console waits for an answer. */
function takingLong(answer: object): Pick<ConsoleContext, 'startedActs'> {
  const begin: ConsoleContext['startedActs']['begin'] = (_ctx, { by }, { operation, back }) => {
    const started: StartedAct = {
      id: 'a1',
      operation,
      by,
      back,
      progress: null,
      outcome: null,
      ended: Promise.resolve(),
    };
    started.ended = wait(1200).then(() => {
      started.outcome = { answer };
    });
    return started;
  };
  return { startedActs: { begin, find: () => undefined, stop: async () => undefined } };
}

async function act(id: string, answer: object) {
  const found = acts.find(({ path }) => path === `/do/${id}`);
  return await found?.act(request, takingLong(answer) as ConsoleContext);
}

it('shows an invitation that takes longer than a second, which was lost because it is shown only once', async () => {
  const page = await act('membersInvitation', {
    membershipId: 1,
    invitation: { kind: 'link', url: 'https://tool/join' },
  });
  expect(String(await (page as { body: unknown }).body)).toContain('https://tool/join');
});

it('redirects to the page of an act that takes longer than a second', async () => {
  expect(await act('membersConverge', { membershipId: 1 })).toEqual({ redirect: '/started/a1' });
});
