import { listToolTroubles } from '../converge/tool-trouble-store.ts';
import type { Install } from '../domain/install.ts';
import { describeToolTrouble, isTroubleCurrent } from '../domain/tool-trouble.ts';
import { listTroubledSubscriptions } from '../installs/subscription/subscription-store.ts';
import type { Storage } from '../keys/storage.ts';
import { toInstant } from '../lib/clock.ts';
import { maskText } from '../lib/mask.ts';
import { type InstallState, listInstallStates } from '../reconcile/read/install-state-store.ts';
import { patienceMs } from './about-tools.ts';
import { countPeopleInTrouble, type PeopleInTrouble } from './install-people-store.ts';

/** An install as an operator may see it: without its token. */
export interface ListedInstall extends Pick<Install, 'livesIn' | 'tool'> {
  install: string;
  projects: string[];
  /** When the last complete reading began; null before the first. */
  readAt: string | null;
  /** Why it could not be read since. */
  failure: string | null;
  /** What is wrong at the marketplace, with its endpoint, its tool and its people, in this order. */
  troubles: string[];
}

/** @param installs these, in this order */
export async function listInstalls(
  ctx: Storage,
  installs: Iterable<[string, Install]>,
  now: Date,
): Promise<ListedInstall[]> {
  const states = new Map((await listInstallStates(ctx)).map((state) => [state.install, state]));
  const endpoints = await listTroubledSubscriptions(ctx);
  const tools = (await listToolTroubles(ctx)).filter((trouble) => isTroubleCurrent(trouble, now));
  const people = await countPeopleInTrouble(ctx.database, toInstant(new Date(now.getTime() - patienceMs)));
  return [...installs].map(([install, { livesIn, tool, projects }]) => {
    const state = states.get(install);
    const isOf = (one: { install: string }) => one.install === install;
    return {
      install,
      livesIn,
      tool,
      projects: [...projects],
      readAt: state?.readBeganAt ?? null,
      failure: state?.failure ?? null,
      troubles: [
        ...aboutReading(state),
        ...endpoints.filter(isOf).map(({ trouble }) => trouble.says),
        ...tools.filter((one) => one.tool === tool).map((one) => `${tool} ${describeToolTrouble(one)}: ${one.message}`),
        ...people.filter(isOf).map(({ why, count }) => `${texts[why]}: ${count}`),
      ],
    };
  });
}

function aboutReading(state: InstallState | undefined): string[] {
  if (state?.failure) return [maskText(state.failure)];
  return state?.heldSince ? [`nothing older than ${state.heldSince} is acted on before its next reading`] : [];
}

const texts: Record<PeopleInTrouble['why'], string> = {
  failed: 'people refused by the tool',
  waiting_email: 'people without a work address',
  late: 'people waiting for the tool for more than two minutes',
};
