import { type By } from '../values/caller.js';
import { formatMoney, formatRate } from '../values/money.js';
import { type ByDto, byOf } from './by.dto.js';

/** The only place that knows how a name of the program becomes one of a response: snake case, without the unit. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Uppercase<First> ? '_' : ''}${Lowercase<First>}${Snake<Rest>}`
  : '';

/** `external_id` of `externalId`, `amount` of `amountCents`, `earn_rate` of `earnRateBps`. */
type MemberOf<Name extends string> = Name extends `${infer Bare}${'Cents' | 'Bps'}` ? Snake<Bare> : Snake<Name>;

/** How a response shows the value of a name: who made a change (`…By`), and metadata that is empty, not null. */
type Shown<Name, Value> = Name extends `${string}${'Cents' | 'Bps'}`
  ? string | Extract<Value, null | undefined>
  : Name extends `${string}By`
    ? ByDto | Extract<Value, null>
    : Name extends 'metadata'
      ? NonNullable<Value>
      : Value;

/** An entity, or a part of one, as a response shows it. */
export type Presented<T> = {
  [Name in keyof T & string as MemberOf<Name>]: Shown<Name, T[Name]>;
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

function shownValue(name: string, value: unknown): unknown {
  if (typeof value === 'number') {
    if (name.endsWith('Cents')) return formatMoney(value);
    return name.endsWith('Bps') ? formatRate(value) : value;
  }
  if (name.endsWith('By')) return byOf(value as By);
  return name === 'metadata' ? (value ?? {}) : value;
}

/** Returns members of an entity as a response shows them, in the order of their names. */
export function present<T extends object, const Name extends keyof T & string>(
  entity: T,
  ...names: readonly Name[]
): Presented<Pick<T, Name>> {
  const shown: Record<string, unknown> = {};
  for (const name of names) shown[memberOf(name)] = shownValue(name, entity[name]);
  return shown as Presented<Pick<T, Name>>;
}
