import { AppError } from '../domain/errors.ts';
import type { PairEvidence } from '../domain/evidence.ts';
import { createJournalStore, type Fact, type JournalStore } from '../journal/journal-store.ts';
import { type Bearing, createExplainStore } from '../memberships/explain-store.ts';
import { createLinkRouter } from '../memberships/link-router.ts';
import type { RoutedInstalls } from '../memberships/wall.ts';
import { bearingAt } from './bearing-at.ts';
import { type Explanation, explain } from './explain.ts';
import type { ExplainDeps } from './explain-subject.ts';

export type ExplainAtDeps = Omit<ExplainDeps, 'managedDomains' | 'tools'>;

/**
 * Why a trainer, or the people of a contract, had access at an instant or had not, by the evidence journal. It says
 * nothing of names and addresses, which the journal does not keep, and nothing that could be done.
 *
 * @param isAsked which contracts with which links are explained; by default all
 * @throws AppError `invalid` for an instant from before there was a journal
 */
export async function explainAt(
  { database, box, installs, adapters }: ExplainAtDeps,
  subject: string,
  instant: string,
  isAsked: (pair: PairEvidence) => boolean = () => true,
): Promise<{ bearing: Bearing; explanations: Explanation[] }> {
  const journal = createJournalStore(database);
  await journal.sealAll();
  const position = await findPosition(journal, instant);
  const now = await createExplainStore(database, box).load(subject);
  const bearing = await bearingAt(database, journal, position, now, subject);
  const routed = await installsAt(journal, position, installs);
  const explanations = explain(
    { ...bearing, pairs: bearing.pairs.filter(isAsked) },
    {
      installs: routed,
      adapters,
      routeLink: createLinkRouter(routed, adapters),
      managedDomains: [],
      troubles: new Map(),
    },
  );
  return { bearing, explanations: explanations.map((one) => ({ ...one, action: null })) };
}

async function findPosition(journal: JournalStore, instant: string): Promise<number> {
  const since = await journal.since();
  if (instant < since)
    throw new AppError('invalid', `The evidence journal begins at ${since}: nothing is known of before`);
  return await journal.positionAt(instant);
}

/** The customers as they were configured. Before that was noted first, as they are. */
async function installsAt(
  journal: JournalStore,
  position: number,
  installs: ExplainAtDeps['installs'],
): Promise<RoutedInstalls> {
  const noted = (await journal.factsAt(position, configuration, ['[]'])).get('[]');
  return noted === undefined ? installs : new Map(Object.entries(noted['installs'] as Record<string, Routed>));
}

interface Routed {
  tool: string;
  projects: readonly string[];
}

const configuration = 'configuration';

/** Notes in the journal which customers there are, and where they may lead, unless that is noted already. */
export async function noteInstalls(journal: Pick<JournalStore, 'note'>, installs: RoutedInstalls): Promise<void> {
  const routed = [...installs].map(([name, { tool, projects }]) => [name, { tool, projects }] as const);
  const fact: Fact = { installs: Object.fromEntries(routed.sort(([a], [b]) => (a < b ? -1 : 1))) };
  await journal.note(configuration, fact);
}
