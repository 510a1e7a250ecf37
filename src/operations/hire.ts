import { z } from 'zod';
import { AppError } from '../domain/errors.ts';
import { accountOf } from '../hires/account.ts';
import type { Posting } from '../hires/hire-store.ts';
import { proposals } from '../marketplace/contract/hiring.ts';
import { jobs } from '../marketplace/contract/jobs.ts';
import { toLink } from '../marketplace/source.ts';
import { askedAnswer, asking, askPerson, ofContract } from './approvals.ts';
import { Hire, hireColumns, listAllHires } from './hire-list.ts';
import { examineProject } from './links.ts';
import { act, group, read } from './operation.ts';
import { answerFields, draftJob, missingOf, onePosting, publishJob } from './post-job.ts';
import { type Columns, table } from './show.ts';
import { flag, maybeInstant, maybeText, named, ofInstall, text, theInstall } from './values.ts';

/** Hires by your own accounts, from the text of a job to a person at work. */

const Missing = z.object({
  field: z.string(),
  says: z.string().describe('The question for a person.'),
  keys: z.array(z.string()).describe('What to set.'),
  choices: z.array(z.string()).nullable(),
});

const Draft = named('JobDraft', {
  install: z.string(),
  jobId: z.string(),
  project: z.string(),
  title: z.string(),
  missing: z.array(Missing),
  publishedAt: maybeInstant,
  jobUrl: maybeText,
  warning: maybeText.describe('Why nobody would get into the project.'),
});

export type Draft = z.output<typeof Draft>;

function toDraft(posting: Posting): Draft {
  return {
    ...posting,
    warning: null,
    missing: missingOf(posting).map(
      ({ field, prompt, message, hint, example, updateKeys: keys, enumValues = null }) => {
        const more = [hint, example && `such as ${example}`].filter(Boolean).join(', ');
        return { field, says: `${prompt ?? message ?? field}${more && ` (${more})`}`, keys, choices: enumValues };
      },
    ),
  };
}

function sayDraft({ jobId, title, project, missing, publishedAt, jobUrl }: Draft): string {
  const where = jobUrl === null ? '' : `: ${jobUrl}`;
  if (publishedAt !== null) return `Job ${jobId} (${title}) is published for the project ${project}${where}`;
  if (missing.length === 0) return `Job ${jobId} (${title}) can be published: gangway hire publish ${jobId}`;
  const lines = missing.map(({ says, keys, choices }) => {
    const value = choices === null ? '<value>' : choices.join('|');
    return `  ${says}\n    ${keys.map((key) => `--set ${key}=${value}`).join(' ')}`;
  });
  return [
    `Job ${jobId} (${title}) is a draft. Missing:`,
    ...lines,
    `Answer: gangway hire answer ${jobId} --set …`,
  ].join('\n');
}

/** What a terminal asks for, and the field that takes the answers. */
function questionsOf({ missing }: Draft) {
  return missing.flatMap(({ says, keys, choices }) =>
    keys.map((key) => ({ says: `${says}${choices === null ? '' : ` [${choices.join(', ')}]`}`, key })),
  );
}

const set = z
  .array(z.string().min(1).max(60_000))
  .describe('A field and its value, such as pricePerHour=20 or languages=English,German; repeatable.');

const drafted = {
  out: Draft,
  show: sayDraft,
  status: ({ missing }: Draft) => (missing.length > 0 ? 2 : 0),
  questions: questionsOf,
} as const;

const oneJob = { install: theInstall, job: text.describe('The id of the job.') };
const oneProposal = { install: theInstall, proposal: text.describe('The id of the proposal.') };

const Proposal = named('Proposal', {
  id: z.string(),
  jobId: maybeText,
  status: maybeText,
  name: maybeText.describe('First name and last initial.'),
  country: maybeText,
  rateUsd: z.number().nullable(),
  score: z.number().nullable().describe('Of the AI interview.'),
  hasTranscript: z.boolean(),
  coverLetter: maybeText,
});

export type Proposal = z.output<typeof Proposal>;

export const proposalColumns: Columns<Proposal> = [
  ['trainer', ({ name, id }) => name ?? id],
  ['proposal', ({ id }) => id, { isBeneath: true }],
  ['status', ({ status }) => status?.toLowerCase(), { as: 'state' }],
  ['country', ({ country }) => country],
  ['US$', ({ rateUsd }) => rateUsd, { align: 'right' }],
  ['interview', ({ score }) => score, { align: 'right' }],
  ['transcript', ({ hasTranscript }) => (hasTranscript ? 'yes' : '')],
];

function toProposal(found: z.output<typeof proposals.get.out>['proposal']): Proposal {
  const { id, jobId, status, freelancer, coverLetter = null, rateUsd, aiInterview } = found;
  const { displayName: name = null, country = null } = freelancer ?? {};
  const { score = null, transcriptAvailable: hasTranscript = false } = aiInterview ?? {};
  return { id, jobId, status, name, country, rateUsd, score, hasTranscript, coverLetter };
}

const Message = z.object({ role: z.string(), content: z.string(), sentAt: maybeText });
const ProposalInFull = z.object({
  ...Proposal.shape,
  summary: maybeText,
  messages: z.array(Message).describe('The transcript of the AI interview.'),
});

export type ProposalInFull = z.output<typeof ProposalInFull>;

export const operations = group('hire', {
  list: read('GET /hires', 'List hires by your own accounts, from the draft to the first work', {
    in: z.strictObject({ install: ofInstall }),
    out: z.object({ items: z.array(Hire) }),
    run: async ({ install }, ctx) => ({ items: await listAllHires(ctx, install) }),
    show: table(hireColumns, 'Nobody was hired from here yet. Begin with a text that describes the work.'),
  }),
  draft: act('POST /installs/{install}/jobs', 'Draft a job from a text, and say what it is missing', {
    asks: 'tools',
    args: ['text'],
    in: z.strictObject({
      install: theInstall,
      text: z
        .string()
        .trim()
        .min(1)
        .max(60_000)
        .describe('The description of the work; on a command line, the file that has it.')
        .meta({ isFile: true }),
      project: text.describe("Your tool's id of the project that the trainers work in."),
      set: set.optional(),
      key: text.optional().describe('Makes another draft of the same text.'),
    }),
    ...drafted,
    async run(wanted, ctx, { by, signal }) {
      const draft = toDraft(await draftJob(ctx, by, wanted, signal));
      const link = toLink('', draft.jobId, draft.project);
      return { ...draft, warning: (await examineProject(ctx, draft.install, link, signal)) ?? null };
    },
    problems: ({ warning }) => (warning === null ? [] : [`Warning: ${warning}`]),
  }),
  job: read('GET /installs/{install}/jobs/{job}', 'Show a job that was drafted here, and what it is missing', {
    in: z.strictObject(oneJob),
    out: Draft,
    run: async ({ install, job }, ctx) => toDraft(await onePosting(ctx, install, job)),
    show: sayDraft,
  }),
  answer: act('POST /installs/{install}/jobs/{job}/answer', 'Fill in what a draft is missing', {
    asks: 'marketplace',
    in: z.strictObject({ ...oneJob, set }),
    ...drafted,
    run: async (answers, ctx, { by, signal }) => toDraft(await answerFields(ctx, by, answers, signal)),
  }),
  publish: act('POST /installs/{install}/jobs/{job}/publish', 'Publish a job, and link it to its project', {
    asks: 'tools',
    in: z.strictObject(oneJob),
    out: Draft,
    run: async (job, ctx, { by, signal }) => toDraft(await publishJob(ctx, by, job, signal)),
    show: sayDraft,
  }),
  proposals: read(
    'GET /installs/{install}/jobs/{job}/proposals',
    'List the proposals for a job, the best interview first',
    {
      asks: 'marketplace',
      in: z.strictObject(oneJob),
      out: z.object({ items: z.array(Proposal) }),
      async run({ install, job: jobId }, ctx, { signal }) {
        const { listWhole } = accountOf(ctx, install);
        const found = await listWhole(jobs.proposals, { jobId, limit: 100 }, signal);
        return { items: found.map(toProposal).sort((one, other) => (other.score ?? -1) - (one.score ?? -1)) };
      },
      show: table(proposalColumns, 'Nobody has proposed to do this job yet.'),
    },
  ),
  proposal: read(
    'GET /installs/{install}/proposals/{proposal}',
    'Show a proposal, and the transcript of its interview',
    {
      asks: 'marketplace',
      in: z.strictObject(oneProposal),
      out: ProposalInFull,
      async run({ install, proposal: proposalId }, ctx, { signal }) {
        const { call } = accountOf(ctx, install);
        const proposal = toProposal((await call(proposals.get, { proposalId }, signal)).proposal);
        if (!proposal.hasTranscript) return { ...proposal, summary: null, messages: [] };
        const { interview } = await call(proposals.interview, { proposalId }, signal);
        return { ...proposal, summary: interview.summary ?? null, messages: interview.messages };
      },
      show: ({ id, name, score, coverLetter, summary, messages }) =>
        [`${name ?? 'A trainer'} (${id}), interview ${score ?? 'not scored'}`, coverLetter, summary]
          .concat(messages.map(({ role, content }) => `${role}: ${content}`))
          .filter((line) => line !== null)
          .join('\n'),
    },
  ),
  confirm: act(
    'POST /installs/{install}/proposals/{proposal}/hire',
    'Request a hire, which a person confirms at the marketplace',
    {
      ...askedAnswer,
      in: z.strictObject({
        ...oneProposal,
        confirmNotFitOverride: flag('Hire the person although they are marked as not a fit.'),
        ...asking,
      }),
      run: ({ proposal: subject, wait, ...input }, ctx, call) =>
        askPerson(ctx, call, { ...input, kind: 'proposal_hire', subject, contractId: null }, wait),
    },
  ),
  end: act(
    'POST /installs/{install}/contracts/{contract}/finish',
    'End a contract of your own account at the marketplace, for good',
    {
      ...askedAnswer,
      in: z.strictObject({ install: theInstall, contract: ofContract, yes: flag('End it.'), ...asking }),
      run({ contract: subject, yes, wait, ...input }, ctx, call) {
        if (!yes) throw new AppError('invalid', 'This ends the contract for good: --yes does it');
        return askPerson(ctx, call, { ...input, kind: 'contract_end', subject, contractId: subject }, wait);
      },
    },
  ),
});
