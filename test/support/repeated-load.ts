import { minutesAgo, toBody } from './lifecycle-events.ts';
import { createSender, type SentAnswer } from './sender.ts';
import { tries } from './tries.ts';

/** Distinct deliveries, four times each, all asked for at once. */
export interface RepeatedLoad {
  answers: SentAnswer[];
  /** As `group/trainer`, sorted: the members when all is done. */
  members: string[];
}

/** How many of them are distinct. */
export const distinct = tries(500);
const repeats = 4;
/** The same in every copy. */
const createdAt = minutesAgo(1);
/** At one process: all of the requests, where there are two. */
const connections = 1000;

/**
 * Sends to the urls in turn, so that the four copies of one delivery meet at every one of them, and
 * at the same time. Every second trainer has two contracts on one project: one membership.
 *
 * @param onAllSent called when every request is on its way
 */
export async function sendRepeatedly(urls: string[], secret: string, onAllSent?: () => void): Promise<RepeatedLoad> {
  const sender = createSender(secret, connections);
  const events = Array.from({ length: distinct }, (_, number) => toEvent(number));
  const requests = Array.from({ length: distinct * repeats }, (_, index) => {
    const number = Math.floor(index / repeats);
    const url = urls[index % urls.length] ?? '';
    return { url, body: toBody(toEvent(number)), id: `delivery-${number}` };
  });
  let unsent = requests.length;
  const onSent = () => {
    unsent -= 1;
    if (unsent === 0) onAllSent?.();
  };
  const answers = await Promise.all(requests.map(({ url, body, id }) => sender.send(url, body, id, onSent)));
  const members = new Set(events.map(({ project, trainer }) => `${project}/${trainer}`));
  return { answers, members: [...members].sort() };
}

function toEvent(number: number) {
  const trainer = Math.floor(number / 2);
  const isSecond = number % 2 === 1;
  return {
    type: 'contract.started',
    number,
    contract: `ctr${number}`,
    trainer: `usr${trainer}`,
    project: isSecond && trainer % 2 === 1 ? 'street-lamps' : 'street-signs',
    createdAt,
  } as const;
}

/** How many answers there were of each kind. */
export function countAnswers(answers: SentAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, said } of answers) {
    const kind = `${status} ${said}`;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}
