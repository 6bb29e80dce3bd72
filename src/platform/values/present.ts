/**
 * The only place that knows how a name of the program becomes one of a response: snake case, with money (`…Cents`) and
 * rates (`…Bps`) as decimal strings.
 */
import { formatMoney, formatRate } from './money.js';

type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Uppercase<First> ? '_' : ''}${Lowercase<First>}${Snake<Rest>}`
  : '';

/** `external_id` of `externalId`, `amount` of `amountCents`, `earn_rate` of `earnRateBps`. */
export type MemberOf<Name extends string> = Name extends `${infer Bare}${'Cents' | 'Bps'}` ? Snake<Bare> : Snake<Name>;

/** An entity, or a part of one, as a response shows it. */
export type Presented<T> = {
  [Name in keyof T & string as MemberOf<Name>]: Name extends `${string}${'Cents' | 'Bps'}`
    ? string | Extract<T[Name], null | undefined>
    : T[Name];
};

const members = new Map<string, string>();

/** @param name of the program: there are a few hundred. */
export function memberOf<Name extends string>(name: Name): MemberOf<Name> {
  let member = members.get(name);
  if (member === undefined) {
    member = name.replace(/(Cents|Bps)$/, '').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    members.set(name, member);
  }
  return member as MemberOf<Name>;
}

/** @param rateOf how a rate is written. */
export function presentValue(name: string, value: unknown, rateOf: (bps: number) => string = formatRate): unknown {
  if (typeof value !== 'number') return value;
  if (name.endsWith('Cents')) return formatMoney(value);
  return name.endsWith('Bps') ? rateOf(value) : value;
}

/** Returns members of an entity as a response shows them, in the order of their names. */
export function present<T extends object, const Name extends keyof T & string>(
  entity: T,
  names: readonly Name[],
): Presented<Pick<T, Name>> {
  const shown: Record<string, unknown> = {};
  for (const name of names) shown[memberOf(name)] = presentValue(name, entity[name]);
  return shown as Presented<Pick<T, Name>>;
}
