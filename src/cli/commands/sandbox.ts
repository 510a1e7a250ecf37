import { InvalidArgumentError } from 'commander';
import { AppError } from '../../domain/errors.ts';
import { type CreateCommand, defineCommand } from '../define-command.ts';
import { argument, flag, oneOf, option, repeatedOption, toAmount, withDefault } from '../options.ts';
import { control, defaultPort, faultOptions, local, type Made, runSandbox, toFaults } from '../sandbox-command.ts';

const idOf = (kind: string) => argument(`<${kind}>`, `The id of the ${kind}`);

const sampleInterview = [
  { role: 'interviewer', content: 'Which street scenes have you labelled?' },
  { role: 'candidate', content: 'Crossings, for two years.' },
];

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
        ...(interview && { interview: { messages: sampleInterview } }),
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
    name: 'fund',
    description: 'Fund a milestone of a contract',
    arguments: { contract: idOf('contract') },
    options: {
      volume: withDefault('<number>', 'Hours or labels, as the job is paid', 10, toAmount),
      amount: withDefault('<usd>', 'What it costs, in US dollars', 200, toAmount),
    },
    async act({ contract: id, volume, amount }, ask) {
      const body = { volume, amountUsd: amount };
      const funded = await ask<Made<'fundMilestone'>>(['contracts', id, 'fund'], body);
      return [funded, `${funded.milestone.name} of contract ${id} funded: ${volume} for ${amount} USD`];
    },
  }),
  control({
    name: 'bill',
    description: "Have a payment for a contract wait for a person of the employer's own account",
    arguments: { contract: idOf('contract') },
    options: { amount: withDefault('<usd>', 'How much is to be paid, in US dollars', 200, toAmount) },
    async act({ contract: id, amount }, ask) {
      const payment = await ask<Made<'billContract'>>(['contracts', id, 'bill'], { amountUsd: amount });
      return [
        payment,
        `Payment ${payment.id} of ${amount} USD waits for a person`,
        `Pay it with: gangway sandbox pay ${payment.id}`,
      ];
    },
  }),
  control({
    name: 'pay',
    description: 'Pay what waits: a payment, which funds a milestone, or a top-up',
    arguments: { payment: argument('<payment>', 'The id of the payment or the top-up') },
    options: { cancel: flag('Have it cancelled instead, which no event says') },
    async act({ payment, cancel }, ask) {
      const outcome = cancel ? 'cancelled' : 'paid';
      return [await ask(['payments', payment, 'settle'], { outcome }), `Payment ${payment} is ${outcome}`];
    },
  }),
  control({
    name: 'consent',
    description: "Let an install see its trainers' work addresses, or no longer",
    arguments: { install: idOf('install') },
    options: { withdraw: flag('Take the consent back') },
    act: async ({ install: id, withdraw }, ask) => [
      await ask(['installs', id, 'consent'], { piiConsent: !withdraw }),
      `Install ${id} ${withdraw ? 'no longer sees' : 'sees'} work addresses`,
    ],
  }),
  control({
    name: 'reconnect',
    description: 'Connect the customer anew: the old install is revoked, a new one has a new token',
    arguments: { install: idOf('install') },
    async act({ install: id }, ask) {
      const answer = await ask<Made<'reconnect'>>(['installs', id, 'reconnect'], {});
      return [
        answer,
        `Install ${answer.revokedInstallId} is revoked; its links and endpoints stay with it`,
        `  install       ${answer.installId}`,
        `  token         ${answer.token}`,
      ];
    },
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
    name: 'claim',
    description: 'Claim an account that an agent registered',
    arguments: { account: idOf('account') },
    act: async ({ account: id }, ask) => [await ask(['accounts', id, 'claim'], {}), `Account ${id} is claimed`],
  }),
  control({
    name: 'set',
    description: 'Set what an account has; what is not named is on',
    arguments: { account: idOf('account') },
    options: {
      withoutCard: flag('It has no card'),
      withoutTeam: flag('It has no team'),
      withoutFeature: repeatedOption('<feature>', 'A feature that is off, such as public_api_team; may be repeated'),
    },
    act: async ({ account: id, withoutCard, withoutTeam, withoutFeature: featuresOff }, ask) =>
      inLines(await ask(['accounts', id, 'set'], { hasCard: !withoutCard, hasTeam: !withoutTeam, featuresOff })),
  }),
  control({
    name: 'registration',
    description: 'Say whether agents can register',
    arguments: { state: oneOf('<state>', 'Whether they can', ['on', 'off', 'busy']) },
    async act({ state: wanted }, ask) {
      const refusal = { on: null, off: 'anonymous_not_enabled', busy: 'rate_limit_exceeded' }[wanted];
      return [await ask(['registration'], { refusal }), `Registration is ${wanted}`];
    },
  }),
  control({
    name: 'write',
    description: 'Have a trainer write in a conversation',
    arguments: { conversation: argument('<conversation>', 'The id of the conversation, such as dm_ and a contract') },
    options: {
      body: withDefault('<text>', 'What the trainer writes', 'Hello'),
      attach: option('<name>', 'The name of an attached file, which says only its name'),
      unavailable: option('<reason>', 'Why the file cannot be read, such as OVERSIZE'),
    },
    async act({ conversation, body, attach: fileName, unavailable: refusal }, ask) {
      const file = { fileName, contentBase64: Buffer.from(fileName ?? '').toString('base64'), refusal };
      const message = { body, attachments: fileName === undefined ? [] : [file] };
      const written = await ask<Made<'writeMessage'>>(['conversations', conversation, 'messages'], message);
      return [written, `Message ${written.messageId} written in ${conversation}`];
    },
  }),
  control({
    name: 'restrict',
    description: 'Have a conversation refuse what the employer sends, or accept it again',
    arguments: { conversation: idOf('conversation') },
    options: { refusal: option('<reason>', 'Such as read_only_conversation (default: accept again)') },
    act: async ({ conversation, refusal = null }, ask) => [
      await ask(['conversations', conversation, 'refusal'], { refusal }),
      `Conversation ${conversation} ${refusal === null ? 'accepts messages' : `refuses with ${refusal}`}`,
    ],
  }),
  control({
    name: 'mail',
    description: 'Have the mail about a message be observed',
    arguments: { job: idOf('job'), message: idOf('message') },
    options: {
      delivered: flag('It was delivered, not only sent'),
      complained: flag('The recipient complained about it'),
    },
    act: async ({ job, message: messageId, delivered, complained: isComplained }, ask) => [
      await ask(['jobs', job, 'mails'], { messageId, status: delivered ? 'DELIVERED' : 'SENT', isComplained }),
      `The mail about ${messageId} is ${delivered ? 'delivered' : 'sent'}`,
    ],
  }),
  control({
    name: 'role',
    description: "Give the user of the account's tokens another role in a workspace",
    arguments: {
      workspace: idOf('workspace'),
      role: oneOf('<role>', 'The role', ['OWNER', 'EDITOR', 'REVIEWER', 'VIEWER']),
    },
    act: async ({ workspace, role: wanted }, ask) => [
      await ask(['workspaces', workspace, 'role'], { role: wanted }),
      `The role in ${workspace} is ${wanted}`,
    ],
  }),
  control({
    name: 'faults',
    description: 'Have things go wrong from now on, or show what went wrong',
    options: {
      install: option('<id>', 'For this install alone (default: all)'),
      clear: flag('Have nothing go wrong any more'),
      ...faultOptions,
    },
    async act({ install: installId, clear, ...options }, ask) {
      const faults = toFaults(options);
      if (faults !== undefined && clear) {
        throw new AppError('invalid', '--clear goes without faults: they replace what was set');
      }
      if (faults !== undefined || clear) return inLines(await ask(['faults'], { installId, faults }));
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
  options: {
    port: withDefault('<port>', 'The port to listen on, 0 for a free one', defaultPort, toPort),
    timeScale: withDefault(
      '<factor>',
      'How much faster than real time it waits between attempts to deliver; 0 stands still',
      1,
      toAmount,
    ),
    seed: option('<text>', 'Decides every id, token and fault (default: a random one)'),
    ...faultOptions,
  },
  run: async () => runSandbox,
  local,
  subcommands: commands,
});

function toPort(text: string): number {
  const port = toAmount(text);
  if (Number.isInteger(port) && port <= 65_535) return port;
  throw new InvalidArgumentError('a port from 0 to 65535 is needed');
}
