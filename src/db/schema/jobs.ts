import { flag, instant, integer, table, text } from '../columns.ts';

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
