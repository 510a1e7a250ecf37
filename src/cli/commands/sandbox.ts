import { parseJson } from '../../config/read-file.ts';
import { AppError } from '../../domain/errors.ts';
import { type CreateCommand, defineCommand } from '../define-command.ts';
import { argument, flag, oneOf, option } from '../options.ts';
import { control, faultsHelp, local, type Made, runOptions, runSandbox } from '../sandbox-command.ts';

const idOf = (kind: string) => argument(`<${kind}>`, `The id of the ${kind}`);

const sampleAnswer = { role: 'candidate', content: 'I have labelled crossings for two years.' };

function inLines(data: unknown): [data: unknown, ...lines: string[]] {
  return [data, ...JSON.stringify(data, null, 2).split('\n')];
}

const commands: readonly CreateCommand[] = [
  control({
    name: 'hire',
    description: 'Hire a trainer for a job: a contract starts',
    options: {
      job: option('<id>', 'The job to hire for (default: the newest)'),
      trainer: option('<id>', 'An opentrainUserId, to hire the same person again'),
      name: option('<name>', 'The display name of the trainer'),
      email: option('<address>', 'The work address of the trainer'),
    },
    async act({ url: at, job, trainer, name, email }, ask) {
      const jobId = job ?? (await ask<Made<'snapshot'>>(['state'])).jobs.at(-1)?.id;
      if (jobId === undefined) throw new AppError('not_found', `The sandbox at ${at} has no job`);
      const trainers = [{ opentrainUserId: trainer, displayName: name, workEmail: email }];
      const hired = await ask<Made<'hire'>>(['contracts'], { jobId, trainers });
      return [
        hired,
        `Contract ${hired.contractId} started on job ${hired.jobId}`,
        ...hired.trainers.map(
          ({ opentrainUserId, displayName, workEmail }) =>
            `  ${displayName}  ${workEmail ?? '(no work address)'}  ${opentrainUserId}`,
        ),
      ];
    },
  }),
  control({
    name: 'propose',
    description: 'Have a trainer propose to do a job',
    arguments: { job: idOf('job') },
    options: {
      trainer: option('<id>', 'An opentrainUserId (default: a new trainer)'),
      notFit: flag('Marked as not a fit'),
      interview: flag('With the transcript of an AI interview'),
    },
    async act({ job: jobId, trainer, notFit: isNotFit, interview }, ask) {
      const made = await ask<Made<'propose'>>(['proposals'], {
        jobId,
        isNotFit,
        trainer: { opentrainUserId: trainer },
        ...(interview && { interview: { messages: [sampleAnswer] } }),
      });
      return [made, `Proposal ${made.proposalId} of ${made.trainer.displayName} for job ${jobId}`];
    },
  }),
  control({
    name: 'resolve',
    description: 'Confirm or decline what waits for a person, or have it expire',
    arguments: {
      approval: idOf('approval'),
      status: oneOf('<status>', 'What becomes of it', ['confirmed', 'declined', 'expired']),
    },
    act: async ({ approval, status }, ask) => [
      await ask(['approvals', approval, 'resolve'], { status }),
      `Approval ${approval} is ${status}`,
    ],
  }),
  control({
    name: 'end',
    description: 'End a contract',
    arguments: { contract: idOf('contract') },
    act: async ({ contract: id }, ask) => [await ask(['contracts', id, 'end'], {}), `Contract ${id} ended`],
  }),
  control({
    name: 'account',
    description: "Make an employer's own account, with a personal token and a job",
    options: { unclaimed: flag('As a program makes it, before a person claims it') },
    async act({ url: at, unclaimed }, ask) {
      const made = await ask<Made<'createAccount'>>(['accounts'], { isClaimed: !unclaimed });
      const { id: jobId } = await ask<Made<'createJob'>>(['jobs'], { accountId: made.accountId });
      return [
        { ...made, jobId },
        `Account ${made.accountId}`,
        `  job           ${jobId}`,
        `  token         ${made.token}`,
        'Connect it:',
        `  gangway init --employer --public-url http://127.0.0.1:8787 --marketplace-url ${at}`,
        `  GANGWAY_CONNECT_TOKEN=${made.token} gangway connect own --employer --job ${jobId}=street-signs`,
        '  gangway start',
        `Hire a trainer with: gangway sandbox hire --url ${at} --job ${jobId}`,
      ];
    },
  }),
  control({
    name: 'do',
    description: 'Do anything else that people do at the marketplace',
    arguments: {
      path: argument('<path>', 'Where the control is, such as accounts/acc_1/set; a wrong path lists all'),
      fields: argument('[fields]', 'A JSON object, such as {"hasCard":false}'),
    },
    act: async ({ path, fields = '{}' }, ask) => inLines(await ask(path.split('/'), Object(parseJson(fields)))),
  }),
  control({
    name: 'faults',
    description: 'Have things go wrong from now on, or show what went wrong',
    arguments: { faults: argument('[faults]', `${faultsHelp}; {} ends them`) },
    options: { install: option('<id>', 'For this install alone (default: all)') },
    async act({ install: installId, faults }, ask) {
      if (faults !== undefined) return inLines(await ask(['faults'], { installId, faults: parseJson(faults) }));
      return inLines((await ask<Made<'snapshot'>>(['state'])).faults);
    },
  }),
  control({
    name: 'state',
    description: 'Show what the marketplace holds, without tokens and secrets',
    act: async (_given, ask) => inLines(await ask(['state'])),
  }),
];

export const sandboxCommand = defineCommand({
  name: 'sandbox',
  description: 'Run a simulated marketplace on this machine, or act as its customers',
  options: runOptions,
  run: async () => runSandbox,
  local,
  subcommands: commands,
});
