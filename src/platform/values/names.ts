/** The only place that knows how a name of the program becomes one of a response: snake case, without the unit. */
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Uppercase<First> ? '_' : ''}${Lowercase<First>}${Snake<Rest>}`
  : '';

/** `external_id` of `externalId`, `amount` of `amountCents`, `earn_rate` of `earnRateBps`. */
export type MemberOf<Name extends string> = Name extends `${infer Bare}${'Cents' | 'Bps'}` ? Snake<Bare> : Snake<Name>;

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
