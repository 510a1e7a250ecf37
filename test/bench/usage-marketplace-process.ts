import { once } from 'node:events';
import { createSandbox } from '../../src/sandbox/sandbox.ts';

/** The sandbox in a process of its own: a customer with one link, and one trainer per contract. */

export interface HireOrder {
  contracts: number;
}

export interface Hired {
  baseUrl: string;
  token: string;
  people: { contractId: string; trainerId: string }[];
}

const [{ contracts }] = (await once(process, 'message')) as [HireOrder];
const sandbox = createSandbox({ timeScale: 0 });
const { baseUrl } = await sandbox.start();
const { installId, token } = sandbox.createInstall();
const { id: jobId } = sandbox.createJob({ installId });
await fetch(`${baseUrl}/project-links`, {
  method: 'POST',
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  body: JSON.stringify({ externalProjectId: 'signs', jobId }),
});
const people = Array.from({ length: contracts }, () => {
  const { contractId, trainers } = sandbox.hire({ jobId });
  return { contractId, trainerId: trainers[0]?.opentrainUserId ?? '' };
});
process.send?.({ baseUrl, token, people } satisfies Hired);
