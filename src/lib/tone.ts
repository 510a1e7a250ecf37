import { styleText } from 'node:util';

/** What a state means for an operator. It decides the colour in the console and on a terminal. */
export type Tone = 'good' | 'warn' | 'bad' | 'held' | 'gone';

/** The states of memberships, plans, deliveries, contracts, runs, notices, checks and troubles. Others are over. */
const tones: Readonly<Record<string, Tone>> = {
  ...{ active: 'good', approved: 'good', handled: 'good', sent: 'good', ok: 'good', healthy: 'good' },
  ...{ clean: 'good', applied: 'good', accepted: 'good', active_funded: 'good' },
  ...{ waiting_email: 'warn', pending: 'warn', invited: 'warn', removing: 'warn', waiting: 'warn', low: 'warn' },
  ...{ disputed: 'warn', warning: 'warn', not_read: 'warn' },
  ...{ failed: 'bad', orphaned: 'bad', failure: 'bad', unprocessable: 'bad', depleted: 'bad', refused: 'bad' },
  ...{ not_funded: 'bad', not_fit: 'bad', trouble: 'bad', down: 'bad' },
  ...{ held: 'held', open: 'held' },
};

export function toneOf(state: string): Tone {
  return tones[state] ?? 'gone';
}

const colours = { good: 'green', warn: 'yellow', bad: 'red', held: 'magenta', gone: 'gray' } as const;

/** The text in the colour of its state, if `stream` is a terminal, or as `NO_COLOR` and `FORCE_COLOR` say. */
export function paint(state: string, text: string, stream: NodeJS.WritableStream = process.stdout): string {
  return styleText(colours[toneOf(state)], text, { stream });
}
