import { z } from 'zod';
import { type EventType, isEventType, type LifecycleEvent } from '../domain/event.ts';
import { toEmail, toId, toInstantText, toText } from '../domain/marketplace-text.ts';

/**
 * Raise this when more deliveries become readable: those that an older version kept as `unprocessable` are read again.
 */
export const readerVersion = 1;

export type ReadEvent =
  | { outcome: 'event'; event: LifecycleEvent }
  | { outcome: 'ignored'; type: string }
  | { outcome: 'unprocessable'; type: string | null; reason: string };

/** The required part of an event. Everything else is optional, and an invalid value is read as absent. */
const Envelope = z.object({
  type: z
    .string()
    .min(1)
    .max(100)
    .regex(/^[\w.-]+$/),
});

const id = attribute(toId);
const text = attribute(toText);

const Contract = z.object({ id, title: text, startDate: attribute(toInstantText) });
const Freelancer = z.object({
  opentrainUserId: id,
  displayName: text,
  workEmail: attribute(toEmail),
});
const ProjectLink = z.object({
  id,
  externalProjectId: id,
  externalProjectName: text,
  provisioningMode: id,
});

const EventRecord = z.object({
  id,
  createdAt: attribute(toInstantText),
  resourceId: id,
  data: z
    .object({
      contractId: id,
      contract: Contract.nullable().catch(null),
      freelancer: Freelancer.nullable().catch(null),
      projectLink: ProjectLink.nullable().catch(null),
    })
    .catch({ contractId: null, contract: null, freelancer: null, projectLink: null }),
});
type EventRecord = z.infer<typeof EventRecord>;

/** Null if the value is missing or `read` cannot read it. */
function attribute(read: (value: unknown) => string | undefined) {
  return z
    .unknown()
    .transform((value) => read(value) ?? null)
    .prefault(null);
}

/** Reads a signed body. Never throws: a body that is not an event is `unprocessable`. */
export function readEvent(body: Uint8Array): ReadEvent {
  return toReadEvent(readJson(body));
}

/** Reads a parsed body. @param json undefined if the body is not JSON */
export function toReadEvent(json: unknown): ReadEvent {
  if (json === undefined) {
    return { outcome: 'unprocessable', type: null, reason: 'the body is not JSON in UTF-8' };
  }
  const envelope = Envelope.safeParse(json);
  if (!envelope.success) {
    return { outcome: 'unprocessable', type: null, reason: 'the body has no event type' };
  }
  const { type } = envelope.data;
  if (!isEventType(type)) return { outcome: 'ignored', type };
  const event = toEvent(type, EventRecord.parse(json));
  if (event !== undefined) return { outcome: 'event', event };
  return { outcome: 'unprocessable', type, reason: 'the event names no resource' };
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** @returns undefined if the body is not JSON in UTF-8 */
export function readJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(body)) as unknown;
  } catch {
    return undefined;
  }
}

function toEvent(type: EventType, record: EventRecord): LifecycleEvent | undefined {
  const { id, createdAt, data } = record;
  const resourceId = record.resourceId ?? ownIdOf(type, data);
  if (resourceId === null) return undefined;
  return {
    id,
    type,
    createdAt,
    resourceId,
    contract: toContract(type, resourceId, data),
    trainer: toTrainer(data.freelancer),
    link: toLink(type, resourceId, data.projectLink),
  };
}

/** The id in the record of the resource, for an event without `resourceId`. */
function ownIdOf(type: EventType, data: EventRecord['data']): string | null {
  if (type.startsWith('contract.')) return data.contract?.id ?? null;
  if (type.startsWith('project_link.')) return data.projectLink?.id ?? null;
  return data.contractId;
}

function toContract(type: EventType, resourceId: string, data: EventRecord['data']): LifecycleEvent['contract'] {
  const { title = null, startDate = null } = data.contract ?? {};
  const own = type.startsWith('contract.') ? resourceId : null;
  const id = data.contract?.id ?? data.contractId ?? own;
  return id === null ? null : { id, title, startDate };
}

function toTrainer(freelancer: EventRecord['data']['freelancer']): LifecycleEvent['trainer'] {
  if (freelancer === null) return null;
  const { opentrainUserId, ...trainer } = freelancer;
  return { id: opentrainUserId, ...trainer };
}

const noProject = { externalProjectId: null, externalProjectName: null, provisioningMode: null };

function toLink(type: EventType, resourceId: string, link: EventRecord['data']['projectLink']): LifecycleEvent['link'] {
  const id = link?.id ?? (type.startsWith('project_link.') ? resourceId : null);
  return id === null ? null : { ...noProject, ...link, id };
}
