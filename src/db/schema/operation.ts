import type { ErrorCode } from '../../domain/errors.ts';
import { counter, flag, instant, integer, sealed, table, text } from '../columns.ts';
import { keptAnswerContext } from '../seal-contexts.ts';

export const operation = {
  setting: table(['name'], {
    name: text(),
    value: text(),
  }),

  namedLock: table(['name'], {
    name: text(),
    token: text(),
    leasedUntil: instant('lease'),
  }),

  /** A process that receives and provisions. */
  instance: table(['id'], {
    id: text(),
    /** The name of its machine, and the number of its process. */
    name: text(),
    version: text(),
    startedAt: instant(),
    /** The last heartbeat, by the clock of the database. */
    beatAt: instant(),
    /** Null if it runs, or has stopped without a clean shutdown. */
    stoppedAt: instant().nullable(),
  }),

  /** The decisions of operators. */
  audit: table(['id'], {
    id: counter(),
    at: instant(),
    actor: text(),
    action: text(),
    subject: text(),
    /** Where the operator acted: `command line`, or `console` and an address. */
    origin: text().optional(),
    /** What the act changed, as text; null if the subject says everything. */
    before: text().nullable(),
    after: text().nullable(),
  }),

  /** The API's answer to an act, so that a repeat of the request gets the same answer. */
  keptAnswer: table(['id'], {
    id: counter(),
    keyDigest: text(),
    requestDigest: text(),
    /** Sealed; null while the act is under way. */
    answer: sealed(keptAnswerContext).nullable(),
    begunAt: instant(),
  }),

  /** Work that is due at some time. */
  job: table(['kind', 'key'], {
    kind: text(),
    key: text(),
    /** The install whose turn it takes; empty for a job of no install. */
    install: text(),
    dueAt: instant(),
    /** How often it was requested since its last run began. */
    asks: integer().optional(),
    leaseToken: text().nullable(),
    leasedUntil: instant('lease').nullable(),
    /** How many runs in a row have failed. */
    attempts: integer().optional(),
    failure: text().nullable(),
    failureCode: text<ErrorCode>().nullable(),
    failingSince: instant().nullable(),
    /** Whether the other jobs of its kind and install wait until it succeeds. */
    holdsOthers: flag().optional(),
  }),
};
