import { createHmac, randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { percentile } from './percentile.ts';

/**
 * The load generator, a process of its own. It speaks just enough HTTP/1.1: each request is a
 * ready-made buffer, each answer is recognised by its status line and its length, so that it costs
 * a small part of what any server costs.
 *
 * Started with `fork`; its parent sends one `LoadOrder` and gets one `LoadResult`.
 */
export interface LoadOrder {
  port: number;
  path: string;
  secret: string;
  /** Whose headers sign it; the marketplace's when absent. */
  signedAs?: 'github';
  connections: number;
  durationMs: number;
  /** How many distinct requests to make beforehand. */
  distinct: number;
  /** The number of the first one, so that no two runs send the same. */
  first: number;
  /** Over how many trainers, each with a contract of their own, the requests are spread. */
  trainers: number;
  /** Whether each request is about a contract of its own, so that it hires somebody. */
  isHiring?: boolean;
  /** Requests a second over all connections; as many as the server takes when absent. */
  ratePerSecond?: number;
  /** At most so many, also if there is time for more. */
  count?: number;
}

export interface LoadResult {
  answered: number;
  /** Answers by status. */
  statuses: Record<string, number>;
  seconds: number;
  /** Milliseconds from writing a request to having read its answer. */
  p50: number;
  p99: number;
  max: number;
  /** Of one core, how much the generator itself used. */
  cpuShare: number;
  /** When each trainer's first request was sent, in milliseconds since the epoch. */
  sentAt: Record<string, number>;
}

const headEnd = Buffer.from('\r\n\r\n');

process.on('message', (order: LoadOrder) => {
  void run(order).then((result) => process.send?.(result));
});

async function run(order: LoadOrder): Promise<LoadResult> {
  const requests = Array.from({ length: order.distinct }, (_, index) => makeRequest(order, index));
  const sentAt: Record<string, number> = {};
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let sent = 0;
  const cpuBefore = process.cpuUsage();
  const begunAt = performance.now();
  const endAt = begunAt + order.durationMs;

  /** The next request when it is due; undefined when the time is over. */
  async function nextRequest(): Promise<Buffer | undefined> {
    const index = sent++;
    if (order.count !== undefined && index >= order.count) return undefined;
    if (order.ratePerSecond !== undefined) {
      const dueAt = begunAt + (index * 1000) / order.ratePerSecond;
      const waitMs = dueAt - performance.now();
      if (waitMs > 1) await wait(waitMs);
    }
    const now = performance.now();
    if (now >= endAt) return undefined;
    sentAt[trainerOf(order, index)] ??= performance.timeOrigin + now;
    // A server faster than foreseen gets the first ones again; only bare ones are that fast.
    return requests[index % requests.length];
  }

  await Promise.all(
    Array.from({ length: order.connections }, async () => {
      const socket = connect({ port: order.port, host: '127.0.0.1', noDelay: true });
      await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      for (let request = await nextRequest(); request !== undefined; request = await nextRequest()) {
        const sentAt = performance.now();
        const status = await exchange(socket, request);
        latencies.push(performance.now() - sentAt);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      socket.destroy();
    }),
  );
  const seconds = (performance.now() - begunAt) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    answered: latencies.length,
    statuses,
    seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    max: percentile(latencies, 1),
    cpuShare: (cpu.user + cpu.system) / 1e6 / seconds,
    sentAt,
  };
}

function exchange(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0);
    const fail = () => reject(new Error('The server closed the connection'));
    function onData(chunk: Buffer): void {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const headLength = received.indexOf(headEnd);
      if (headLength < 0) return;
      const head = received.toString('latin1', 0, headLength);
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (received.length < headLength + 4 + length) return;
      socket.off('data', onData).off('close', fail);
      resolve(head.slice(9, 12));
    }
    socket.on('data', onData).once('close', fail);
    socket.write(request);
  });
}

function trainerOf({ first, trainers }: LoadOrder, index: number): string {
  return `cmu${((first + index) % trainers).toString().padStart(9, '0')}`;
}

/** A `contract.started` as the marketplace sends it, about 800 bytes, created and signed now. */
function makeRequest(order: LoadOrder, index: number): Buffer {
  const body = Buffer.from(JSON.stringify(makeEvent(order, index)));
  const head = [
    `POST ${order.path} HTTP/1.1`,
    `Host: 127.0.0.1:${order.port}`,
    'Content-Type: application/json',
    'User-Agent: OpenTrain-Partner-Webhooks/1.0',
    ...(order.signedAs === 'github' ? signForGithub(order, body) : signForMarketplace(order, body)),
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`), body]);
}

function signForMarketplace({ secret }: LoadOrder, body: Buffer): string[] {
  const t = Math.floor(Date.now() / 1000);
  const v1 = createHmac('sha256', secret).update(`${t}.`).update(body).digest('hex');
  return [
    'X-OpenTrain-Event: contract.started',
    `X-OpenTrain-Delivery: ${randomUUID()}`,
    `X-OpenTrain-Signature: t=${t},v1=${v1}`,
  ];
}

function signForGithub({ secret }: LoadOrder, body: Buffer): string[] {
  const digest = createHmac('sha256', secret).update(body).digest('hex');
  return ['X-GitHub-Event: push', `X-GitHub-Delivery: ${randomUUID()}`, `X-Hub-Signature-256: sha256=${digest}`];
}

function makeEvent(order: LoadOrder, index: number): object {
  const trainer = trainerOf(order, index);
  const contract = order.isHiring ? `cmc${order.first + index}` : trainer.replace('cmu', 'cmc');
  const startedAt = '2026-11-20T09:00:00.000Z';
  return {
    id: String(7_000_000_000 + order.first + index),
    type: 'contract.started',
    apiVersion: 'v1',
    // Just now, as of an event that is delivered as soon as it happens.
    createdAt: new Date().toISOString(),
    resourceId: contract,
    jobId: 'cmj000000001',
    data: {
      contract: {
        id: contract,
        status: 'active',
        jobId: 'cmj000000001',
        title: 'Street sign annotation',
        startDate: startedAt,
        endDate: null,
        createdAt: startedAt,
      },
      freelancer: {
        opentrainUserId: trainer,
        displayName: 'Amara O.',
        country: 'KE',
        profileUrl: 'https://app.example.com/freelancers/amara-o',
        workEmail: `${trainer}@opentrain.work`,
      },
      projectLink: {
        id: 'cml000000001',
        jobId: 'cmj000000001',
        externalProjectId: 'street-signs',
        externalProjectName: 'Street signs, round two',
        externalProjectUrl: 'https://tool.example.com/projects/17',
        provisioningMode: 'PARTNER_WEBHOOK',
        createdAt: '2026-11-01T09:00:00.000Z',
      },
    },
  };
}
