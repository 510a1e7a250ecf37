import { createApiClient } from './api-client.ts';
import { sqlite } from './databases.ts';
import { type EmployerJourney, openEmployerJourney, readEveryMs } from './employer-journey.ts';
import { until } from './until.ts';

/** An employer's own account with a hire in every step. */
export interface HiringSite extends EmployerJourney {
  /** The address of a view of hires that shows something; undefined for other views. */
  addressOf(path: string): string | undefined;
  /** The ids of the jobs by their step. */
  jobs: { draft: string; published: string };
  proposals: { waiting: string; fit: string; notFit: string };
  contractId: string;
}

interface Missing {
  keys: string[];
}

const words: Record<string, string> = {
  experienceLevel: 'EXPERT',
  labelTypes: 'Boxes, Lines',
  paymentType: 'PAY_PER_HOUR',
  pricePerHour: '20',
};

const text = `Draw boxes around street signs
Each sign gets one box. The box touches the sign on all four sides.

Signs that are cut off at the edge of the picture count too.`;

const interview = {
  score: 91,
  summary: 'Has drawn boxes for two years, and knows the signs of three countries.',
  messages: [
    { role: 'interviewer', content: 'Which objects have you labelled before?' },
    { role: 'candidate', content: 'Signs, lamps and cars, mostly with boxes, and some with polygons.' },
  ],
} as const;

/** A person decides at the marketplace. Resolves when the bridge has seen it, and has read the account since. */
export async function decide(
  { sandbox, storage, live, quiet }: EmployerJourney,
  subject: string,
  status: 'confirmed' | 'declined',
): Promise<{ contractId: string }> {
  const approvals = storage.database.kysely.selectFrom('approval').selectAll().where('subject', '=', subject);
  const { approvalId } = await approvals.where('status', '=', 'pending').executeTakeFirstOrThrow();
  sandbox.resolveApproval(approvalId ?? '', status);
  // A reading that was under way may have come too early.
  const look = async () => {
    await live(60_000);
    return await approvals.where('approvalId', '=', approvalId).executeTakeFirst();
  };
  const approval = await until('the decision is read', look, (found) => found?.status === status);
  await quiet();
  return { contractId: approval?.contractId ?? '' };
}

/** @param says what strangers write instead of something usual */
export async function openHiringSite(says?: string): Promise<HiringSite> {
  const journey = await openEmployerJourney(sqlite);
  const { sandbox, consoleUrl, storage, pass } = journey;
  const api = createApiClient(consoleUrl);
  await pass(60_000);

  async function draft(title: string, project: string) {
    const body = { project, text: says ?? `${title}\n${text}` };
    const { jobId } = await api.ask('hireDraft', { params: { install: 'own' }, body: { ...body, key: title } });
    return String(jobId);
  }

  async function publish(title: string, project: string) {
    const job = await draft(title, project);
    const params = { install: 'own', job };
    for (;;) {
      const { missing } = await api.ask('hireJob', { params });
      const set = (missing as Missing[]).flatMap(({ keys }) => keys.map((key) => `${key}=${words[key]}`));
      if (set.length === 0) break;
      await api.ask('hireAnswer', { params, body: { set } });
    }
    await api.ask('hirePublish', { params });
    return job;
  }

  async function hire(jobId: string) {
    const { proposalId: proposal } = sandbox.propose({ jobId, ...person });
    await api.ask('hireConfirm', { params: { install: 'own', proposal }, body: {} });
    return proposal;
  }

  const person = {
    ...(says !== undefined && { trainer: { displayName: says } }),
    coverLetter: says ?? 'I have drawn boxes for two years. I can begin on Monday.',
  };
  const jobs = { draft: await draft('Sort lamps by type', 'lamps'), published: await publish('Draw boxes', 'boards') };
  const messages = interview.messages.map((one) => ({ ...one, content: says ?? one.content }));
  const talked = { ...interview, summary: says ?? interview.summary, messages };
  const fit = sandbox.propose({ jobId: jobs.published, ...person, interview: talked }).proposalId;
  const notFit = sandbox.propose({ jobId: jobs.published, ...person, isNotFit: true }).proposalId;
  const hired = await hire(await publish('Transcribe calls', 'calls'));
  const { contractId } = await decide(journey, hired, 'confirmed');
  const waiting = await hire(jobs.published);
  sandbox.fundMilestone(contractId, { name: says ?? 'First week' });
  await api.ask('milestonesCreate', {
    params: { install: 'own', contract: contractId },
    body: { name: 'Second week', amount: 300 },
  });
  await pass(readEveryMs);
  if (says !== undefined) {
    // The sandbox asks only its own questions.
    const field = { field: says, prompt: says, enumValues: [says], updateKeys: [says] };
    const postings = storage.database.kysely.updateTable('posting').set({ missing: JSON.stringify([field]) });
    await postings.where('jobId', '=', jobs.draft).execute();
  }
  const addresses: Record<string, string> = {
    '/hires': '/hires',
    '/hires/new': '/hires/new',
    '/hires/jobs/:job': `/hires/jobs/${jobs.published}?install=own`,
    '/hires/proposals/:proposal': `/hires/proposals/${fit}?install=own`,
    '/hires/contracts/:contract': `/hires/contracts/${contractId}?install=own`,
    '/contracts/:contract': `/contracts/${contractId}`,
    '/do/hireConfirm': `/do/hireConfirm?install=own&proposal=${fit}&back=/hires`,
    '/do/hireEnd': `/do/hireEnd?install=own&contract=${contractId}&back=/hires`,
    '/do/milestonesCreate': `/do/milestonesCreate?install=own&contract=${contractId}&back=/hires`,
  };
  return {
    ...journey,
    jobs,
    proposals: { waiting, fit, notFit },
    contractId,
    addressOf: (path) => addresses[path],
  };
}
