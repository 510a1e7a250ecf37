import { createRandom } from '../../support/random.ts';

/** Ninety days in steps of one or two: at each stop Gangway reads and reports, and then people work for an hour. */
export interface Stop {
  number: number;
  /** `13:05`: just past a full hour, when the schedule has come. */
  at: string;
  /** Later in the same hour. */
  moments: readonly string[];
}

/** Any other seed: `SEED=7 npm run test:tools:label-studio`. */
export const seed = Number(process.env['SEED'] ?? 39);

const hours = [3, 9, 14, 18];
/** A reading that is to say what is gone follows the one before after 20 hours. */
const leastHours = 21;

const lastDay = 89;

export function listStops(random: () => number = createRandom(seed)): Stop[] {
  const stops: Stop[] = [];
  let last = 0;
  for (;;) {
    const number = Math.floor(last / 24) + (random() < 0.2 ? 1 : 2);
    const late = hours.filter((hour) => number * 24 + hour - last >= leastHours);
    const hour = late[Math.floor(random() * late.length)];
    if (hour === undefined) continue;
    if (number > lastDay) return stops;
    last = number * 24 + hour;
    const within = (minutes: string) => `${String(hour).padStart(2, '0')}:${minutes}`;
    stops.push({ number, at: within('05'), moments: [within('15'), within('35'), within('50')] });
  }
}
