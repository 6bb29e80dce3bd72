import { type Fault, MAX_FAULTS } from '../common/problem.js';

/** A member of a request that the DTO of its object does not declare. */
export interface UnknownMember {
  /** JSON Pointer to the object. */
  parent: string;
  name: string;
  /** The members that the object can have. */
  known: readonly string[];
}

/** A longer name is shortened in errors, so that a response is not as large as the request. */
const MAX_NAME = 100;

/**
 * Adds the unknown members of an object to those of the request. It stops when there are more than a response lists,
 * because a body can have tens of thousands.
 */
export function noteUnknownMembers(
  given: object,
  declared: ReadonlyMap<string, unknown>,
  parent: string,
  to: UnknownMember[],
): void {
  for (const name of Object.keys(given)) {
    if (to.length > MAX_FAULTS) return;
    if (!declared.has(name)) to.push({ parent, name, known: [...declared.keys()] });
  }
}

export function memberFault({ parent, name, known }: UnknownMember): Fault {
  const token = shortened(name).replaceAll('~', '~0').replaceAll('/', '~1');
  return { pointer: `${parent}/${token}`, detail: `is not a member of this request${didYouMean(name, known)}` };
}

/** Returns the error of an unknown query parameter: a misspelled filter must not return everything. */
export function parameterFault({ name, known }: Pick<UnknownMember, 'name' | 'known'>): Fault {
  const detail = `is not a query parameter of this operation${didYouMean(name, known)}`;
  return { parameter: shortened(name), detail };
}

const shortened = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);

function didYouMean(name: string, known: readonly string[]): string {
  const meant = known.find((candidate) => isCloseTo(plain(candidate), plain(name)));
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

/** `eligibleTotal` and `eligible-total` are spellings of `eligible_total`. */
const plain = (name: string): string => shortened(name).toLowerCase().replace(/[_-]/g, '');

/** Returns whether a name is another one, its beginning, or one edit away from it. */
function isCloseTo(meant: string, name: string): boolean {
  if (name === meant) return true;
  if (name.length < 3) return false;
  return meant.startsWith(name) || isOneEditAway(meant, name);
}

/** An edit inserts, removes or replaces a letter, or swaps two neighbors. */
function isOneEditAway(a: string, b: string): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const [restOfA, restOfB] = [a.slice(same), b.slice(same)];
  const swapped = `${restOfB[1] ?? ''}${restOfB[0] ?? ''}${restOfB.slice(2)}`;
  return (
    [restOfB, restOfB.slice(1), swapped].includes(restOfA) || [restOfB, restOfB.slice(1)].includes(restOfA.slice(1))
  );
}
