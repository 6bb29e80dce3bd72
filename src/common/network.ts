import { isIP } from 'node:net';

/**
 * What a caller's address counts as: an IPv4 address as it is, of an IPv6 address its /64, as that is
 * what one customer of a provider gets, with 2^64 addresses to go through.
 *
 * @param address as Express gives it: with TRUST_PROXY on, whatever the proxy wrote. A port is dropped, as
 *   some proxies add one and every connection would count anew. What is no address counts as it stands.
 */
export function networkOf(address: string | undefined): string {
  const bare = withoutPort(address?.trim() ?? '').replace(/%.*$/, '');
  if (isIP(bare) !== 6) return bare;
  const groups = groupsOf(bare);
  const [high = 0, low = 0] = groups.slice(6);
  // ::ffff:192.0.2.1 is how a dual-stack socket shows an IPv4 address.
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function withoutPort(text: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

/** The eight groups of an IPv6 address; `URL` does the work of reading its many spellings. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const read = (part = ''): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [front, back] = [read(head), read(tail)];
  return tail === undefined ? front : [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}
