import { isIP } from 'node:net';

/**
 * Returns the network that a client's address is counted under: the IPv4 address itself, or the /64 of an IPv6 address,
 * because providers assign at least a /64 to each customer.
 *
 * @param address as Express reports it; with TRUST_PROXY, as the proxy wrote it. A port is removed, because some
 *   proxies add one and each connection has a different one. Text that is not an address is one network.
 */
export function networkOf(address: string | undefined): string {
  const bare = withoutPort(address?.trim() ?? '').replace(/%.*$/, '');
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : 'unknown';
  const groups = groupsOf(bare);
  const [high = 0, low = 0] = groups.slice(6);
  // A dual-stack socket reports an IPv4 address as ::ffff:192.0.2.1.
  if (groups.slice(0, 6).join() === '0,0,0,0,0,65535') return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

function withoutPort(text: string): string {
  return /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? text;
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const read = (part = ''): number[] => (part === '' ? [] : part.split(':').map((group) => parseInt(group, 16)));
  const [front, back] = [read(head), read(tail)];
  return tail === undefined ? front : [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}
