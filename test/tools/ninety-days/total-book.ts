import { type Day, dayOf, type Moment } from './share-out.ts';

/** How much a person has done in a project by now; null where the tool cannot count it at present. */
export interface Total {
  tasks: number;
  labels: number | null;
}

type CountName = keyof Total;

/** What the totals of a project have said so far: a day has what they grew by until the last reading of that day. */
export interface TotalBook {
  /** What is there from before a person's contract. It waits for an operator if no reading shows how much that was. */
  begin(trainerId: string, before: Total, at: string | null): void;
  /** The totals when Gangway read them. */
  note(trainerId: string, total: Total, at: string): void;
  moments(): Moment[];
}

interface Person {
  before: Record<CountName, number>;
  days: Record<CountName, Map<Day, number>>;
}

const names = ['tasks', 'labels'] as const;

export function createTotalBook(timeZone: string): TotalBook {
  const people = new Map<string, Person>();
  const first: Moment[] = [];

  function personOf(trainerId: string): Person {
    const days = { tasks: new Map<Day, number>(), labels: new Map<Day, number>() };
    const person = people.get(trainerId) ?? { before: { tasks: 0, labels: 0 }, days };
    people.set(trainerId, person);
    return person;
  }

  function countedOf({ before, days }: Person, name: CountName): number {
    return [...days[name].values()].reduce((sum, count) => sum + count, before[name]);
  }

  function toMoment(trainerId: string, day: Day, tasks: number, labels: number): Moment {
    return {
      trainerId,
      day,
      at: null,
      seconds: 0,
      labels,
      tasks: Array.from({ length: tasks }, (_, index) => `${index}`),
    };
  }

  return {
    begin(trainerId, { tasks, labels }, at) {
      Object.assign(personOf(trainerId).before, { tasks, labels: labels ?? 0 });
      if (at === null) return;
      first.push({ ...toMoment(trainerId, dayOf(at, timeZone), tasks, labels ?? 0), isFirstTotal: true });
    },

    note(trainerId, total, at) {
      const person = personOf(trainerId);
      for (const name of names) {
        const count = total[name];
        if (count === null) continue;
        const day = dayOf(at, timeZone);
        const growth = Math.max(0, count - countedOf(person, name));
        person.days[name].set(day, (person.days[name].get(day) ?? 0) + growth);
      }
    },

    moments() {
      const all = [...people].flatMap(([trainerId, { days }]) =>
        [...new Set([...days.tasks.keys(), ...days.labels.keys()])].map((day) =>
          toMoment(trainerId, day, days.tasks.get(day) ?? 0, days.labels.get(day) ?? 0),
        ),
      );
      return [...first, ...all];
    },
  };
}
