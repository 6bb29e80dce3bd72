import { type By } from '../values/caller.js';
import { formatMoney, formatRate } from '../values/money.js';
import { memberOf, type MemberOf } from '../values/names.js';
import { type ByDto, byOf } from './by.dto.js';

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
