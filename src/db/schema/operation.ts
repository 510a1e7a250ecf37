import { counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { keptAnswerContext } from '../seal-contexts.ts';

export const operation = {
  setting: table(
    {
      name: text(),
      value: text(),
    },
    { key: ['name'] },
  ),

  namedLock: table(
    {
      name: text(),
      token: text(),
      leasedUntil: instant('lease'),
    },
    { key: ['name'] },
  ),

  /** A process that receives and provisions, as another process sees it. */
  instance: table(
    {
      id: text(),
      name: text(),
      version: text(),
      startedAt: instant(),
      beatAt: instant(),
      stoppedAt: instant().nullable(),
    },
    { key: ['id'] },
  ),

  /** The decisions of operators. */
  audit: table(
    {
      id: counter(),
      at: instant(),
      actor: text(),
      action: text(),
      subject: text(),
      /** From where: `command line`, or `console` and an address. */
      origin: text().default('command line'),
      /** What the act changed, before and after, as text; null if the subject says everything. */
      before: text().nullable(),
      after: text().nullable(),
    },
    {
      indexes: {
        bySubject: ['subject'],
      },
    },
  ),

  /** The answer to an act by the API. */
  keptAnswer: table(
    {
      id: counter(),
      keyDigest: text().unique(),
      requestDigest: text(),
      /** Sealed; null while the act is under way. */
      answer: sealed(keptAnswerContext).nullable(),
      begunAt: instant(),
    },
    {
      indexes: {
        begun: ['begunAt'],
      },
    },
  ),
};

export const jobs = {
  /** Work that is due at some time. */
  job: table(
    {
      kind: text(),
      key: text(),
      /** The install whose turn it takes; empty where it is of no install. */
      install: text(),
      dueAt: instant(),
      /** How often it was asked for since a run of it began. */
      asks: integer().default(0),
      leaseToken: text().nullable(),
      leasedUntil: instant('lease').nullable(),
      /** How many runs in a row have failed. */
      attempts: integer().default(0),
      failure: text().nullable(),
      failingSince: instant().nullable(),
      /** Whether the other jobs of its kind and install wait until it has succeeded. */
      holdsOthers: flag().default(false),
    },
    {
      key: ['kind', 'key'],
      indexes: {
        due: ['dueAt'],
        byInstall: ['kind', 'install', 'dueAt'],
        running: { on: ['kind', 'install'], where: 'leased_until is not null' },
        failing: { on: ['kind', 'install'], where: 'failing_since is not null' },
      },
    },
  ),
};
