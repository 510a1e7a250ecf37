import { createAnswerPurgeWorker } from '../api/answer-purge-worker.ts';
import { createKeptAnswerStore } from '../api/kept-answer-store.ts';
import { createFileWatch } from '../db/file-watch.ts';
import { createVacuumWorker } from '../db/vacuum-worker.ts';
import { createPurgeWorker } from '../inbox/purge-worker.ts';
import type { Loop } from '../lib/loop.ts';
import { createDispatchStore } from '../notify/dispatch-store.ts';
import { createNoticePurgeWorker } from '../notify/notice-purge-worker.ts';
import { createRetentionStore } from '../privacy/retention-store.ts';
import { createRetentionWorker } from '../privacy/retention-worker.ts';
import { createSweep } from '../privacy/sweep.ts';
import { createClearImportsWorker } from '../usage/import/clear-imports-worker.ts';
import { createStagingStore } from '../usage/import/staging-store.ts';
import type { Services, ServicesDeps } from './services.ts';

/** The loops that delete what its retention time is over for, and keep and watch the database. */
export function createHousekeeping({ config, storage, logger, clock }: ServicesDeps, services: Services): Loop[] {
  const { database, box, inbox } = storage;
  const { deliveriesMs, peopleMs } = config.retention;
  const sweep = createSweep({
    database,
    clock,
    retention: createRetentionStore(database),
    lockEvidence: services.evidence.lock,
    retentionMs: peopleMs,
  });
  return [
    createPurgeWorker({ inbox, logger, clock, retentionMs: deliveriesMs }),
    createRetentionWorker({ sweep, logger, clock }),
    createVacuumWorker(database, logger, clock),
    createFileWatch({ database, alerts: services.alerts, logger, clock }),
    createClearImportsWorker({ database, staging: createStagingStore(database), logger, clock }),
    createAnswerPurgeWorker({ answers: createKeptAnswerStore(database, box), logger, clock }),
    createNoticePurgeWorker({
      ...services,
      channels: services.channels.map(({ name }) => name),
      dispatches: createDispatchStore(database),
      alertStore: services.announcing.alertStore,
    }),
  ];
}
