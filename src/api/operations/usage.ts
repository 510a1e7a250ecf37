import { writeAudit } from '../../db/audit-store.ts';
import { inTransaction } from '../../db/database.ts';
import { AppError } from '../../domain/errors.ts';
import { createContractStore } from '../../evidence/contract-store.ts';
import { createLoweringStore } from '../../usage/report/lowering-store.ts';
import { reportNow } from '../../usage/report/report-now.ts';
import { decideHeld, listHeld } from '../../usage/show/decide-held.ts';
import { listLowerings } from '../../usage/show/list-lowerings.ts';
import { showUsage } from '../../usage/show/show-usage.ts';
import { defineOperation } from '../operation-schema.ts';
import {
  contractUsageAnswer,
  contractUsageParams,
  contractUsageQuery,
  decidedHeldAnswer,
  decideHeldBody,
  heldAnswer,
  heldParams,
  reportBody,
  reportedAnswer,
} from '../schemas/usage-schema.ts';
import { pickInstalls } from './customers.ts';

/** The work done in the tools, and what is reported of it to the marketplace. */

const tag = 'usage';

const listHeldWork = defineOperation({
  id: 'listHeldWork',
  method: 'get',
  path: '/usage/held',
  summary: 'Work that is not reported before an operator decides, and days that were lowered',
  tag,
  answer: heldAnswer,
  async run(_asked, { services: { usage }, database, installs }) {
    const held = await Array.fromAsync(listHeld(usage.deps));
    const lowerings = await listLowerings(usage.deps, createLoweringStore(database), [...installs.keys()]);
    return { held, lowerings };
  },
});

const getUsage = defineOperation({
  id: 'getUsage',
  method: 'get',
  path: '/contracts/{contract}/usage',
  summary: 'The work on a contract that was seen and sent, and why these differ',
  tag,
  params: contractUsageParams,
  query: contractUsageQuery,
  answer: contractUsageAnswer,
  async run({ params: { contract: id }, query: { install } }, { services: { usage }, database }) {
    const [contract, other] = await createContractStore(database).find(database.kysely, id, install);
    if (contract === undefined) throw new AppError('not_found', `There is no contract ${id}`);
    if (other !== undefined) throw new AppError('conflict', `Several installs have a contract ${id}: name one`);
    const { ledger: _, ...shown } = await showUsage(usage.deps, contract.install, id);
    return shown;
  },
});

const decideHeldWork = defineOperation({
  id: 'decideHeldWork',
  method: 'post',
  path: '/usage/held/{work}',
  summary: 'Say which contract held work is of, or that it is never reported',
  tag,
  params: heldParams,
  body: decideHeldBody,
  answer: decidedHeldAnswer,
  async run({ params: { work: id }, body: { contract: contractId }, by }, { services: { usage }, database }) {
    await decideHeld(usage.deps, id, contractId);
    const decision = contractId === null ? 'discarded' : `assigned to ${contractId}`;
    await inTransaction(database, (tx) => writeAudit(tx, by, 'usage held', `${id} ${decision}`));
    return { id, contractId };
  },
});

const reportWork = defineOperation({
  id: 'reportUsage',
  method: 'post',
  path: '/usage/report',
  summary: 'Read the work in the tools, and report what has changed',
  tag,
  body: reportBody,
  answer: reportedAnswer,
  async run({ body, by, signal }, parts) {
    const { services, database } = parts;
    const { install, contract: contractId, from, to, acceptLowered: acceptsLowered = false } = body;
    const installs = pickInstalls(parts, install);
    if (contractId !== undefined) {
      const found = await createContractStore(database).find(database.kysely, contractId, install);
      if (found.length === 0) throw new AppError('not_found', `There is no contract ${contractId}`);
    }
    const wanted = { installs, contractId, from, to, acceptsLowered };
    const reported = await reportNow(services.usage.deps, wanted, { waitMs: readWithinMs, signal });
    const action = acceptsLowered ? 'usage report --accept-lowered' : 'usage report';
    await inTransaction(database, (tx) => writeAudit(tx, by, action, contractId ?? installs.join(', ')));
    return reported;
  },
});

const readWithinMs = 30_000;

export const usageOperations = [listHeldWork, getUsage, decideHeldWork, reportWork];
