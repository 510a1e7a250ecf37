import { listedTroubleRules } from './listed-trouble-rules.ts';
import {
  type NoticeRule,
  raisedTroubleRules,
  type Severity,
  severities,
  type TroubleRule,
} from './raised-trouble-rules.ts';
import { workTroubleRules } from './work-trouble-rules.ts';

const listed = { ...listedTroubleRules, ...workTroubleRules };
const rules = { ...listed, ...raisedTroubleRules };

export type TroubleKind = keyof typeof rules;
export const troubleRules: Readonly<Record<TroubleKind, TroubleRule>> = rules;

/** Kinds that code raises as alerts. */
export type RaisedKind = keyof typeof raisedTroubleRules;
/** Kinds that are alerts while a query lists them. */
export type ToldKind = {
  [Kind in keyof typeof listed]: 'notice' extends keyof (typeof listed)[Kind] ? Kind : never;
}[keyof typeof listed];
export type AlertKind = RaisedKind | ToldKind;

export function isRaised(kind: string): kind is RaisedKind {
  return Object.hasOwn(raisedTroubleRules, kind);
}

/**
 * Something that needs an operator. `status`, the console, `doctor`, notices and `docs/operating.md` tell it with the same
 * words.
 */
export interface Trouble {
  kind: TroubleKind;
  severity: Severity;
  install: string | null;
  tool: string | null;
  since: string | null;
  /** What the sentence counts. */
  count: number | null;
  /** One sentence. */
  says: string;
  /** The cause: the error of another system, or numbers. */
  detail: string | null;
  /** What to do, with the command where there is one. */
  action: string;
  /** The page of the console where it is done. */
  page: string | null;
  /** Another place where it is done: http or https. */
  url: string | null;
  /** Further ids, which tell the troubles of one kind, install and tool apart. */
  about: Readonly<Record<string, string>>;
}

export interface TroubleFacts
  extends Partial<Pick<Trouble, 'install' | 'tool' | 'since' | 'count' | 'detail' | 'url' | 'about'>> {
  kind: TroubleKind;
  /** What to do, if it differs from the advice for the kind. */
  action?: string;
  /** Further names in its texts. */
  names?: Readonly<Record<string, string>>;
}

export const troubleKinds = Object.keys(troubleRules) as readonly TroubleKind[];

function isTroubleKind(kind: string): kind is TroubleKind {
  return Object.hasOwn(troubleRules, kind);
}

export const alertKinds = troubleKinds.filter(isAlert);

export function isAlert(kind: string): kind is AlertKind {
  return isTroubleKind(kind) && troubleRules[kind].notice !== undefined;
}

export function isTold(kind: string): kind is ToldKind {
  return isAlert(kind) && !isRaised(kind);
}

/** Undefined for a kind of a newer version. */
export function noticeRuleOf(kind: string): NoticeRule | undefined {
  return isAlert(kind) ? troubleRules[kind].notice : undefined;
}

/** What to do about troubles of a kind, without the backticks of commands. */
export function adviceOfTrouble(kind: TroubleKind): string {
  return troubleRules[kind].action.replaceAll('`', '');
}

/** What to do about a kind of notice; null if nothing is wrong, and for a kind of a newer version. */
export function adviceOf(kind: string): string | null {
  const name = kind.replace('alert.', '').replace('budget.', 'budget_');
  return isTroubleKind(name) ? adviceOfTrouble(name) : null;
}

/** Pure. */
export function toTrouble({ kind, action, names = {}, ...facts }: TroubleFacts): Trouble {
  const { severity, says, page } = troubleRules[kind];
  const { install = null, tool = null, since = null, count = null, detail = null, url = null, about = {} } = facts;
  const known = new Map(Object.entries({ ...about, ...names, install, tool, count }));
  const fill = (text: string, encode: (value: string) => string = String) =>
    text.replaceAll(/<(\w+)>/g, (placeholder, name: string) => encode(String(known.get(name) ?? placeholder)));
  const numbered = says.replaceAll(/\(([^|()]*)\|([^|()]*)\)/g, (_, one: string, several: string) =>
    (count ?? 1) === 1 ? one : several,
  );
  return {
    ...{ kind, severity, install, tool, since, count },
    says: fill(numbered),
    detail,
    action: action ?? fill(adviceOfTrouble(kind)),
    page: page === undefined ? null : fill(page, encodeURIComponent),
    url,
    about,
  };
}

export function sayInFull({ says, detail }: Trouble): string {
  return detail === null ? says : `${says} ${detail}`;
}

/** The worst first, then the oldest. A trouble with an unknown beginning comes last. */
export function byUrgency(one: Trouble, other: Trouble): number {
  const key = ({ severity, since }: Trouble) => `${severities.indexOf(severity)} ${since ?? '~'}`;
  return Number(key(one) > key(other)) - Number(key(one) < key(other));
}
