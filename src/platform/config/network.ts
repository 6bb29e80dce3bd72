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

/** Express's 'trust proxy' setting: no proxy, the n nearest ones, or those at these addresses. */
type TrustedProxies = false | number | string[];

const RANGES = ['loopback', 'linklocal', 'uniquelocal'];
const MAX_HOPS = 10;

/**
 * Reads TRUST_PROXY.
 *
 * @param text empty or `0` (no proxy), a number of proxies, or addresses and subnets separated by commas.
 * @returns undefined if it is not valid. `true` is not, because every client could then claim any address.
 */
export function trustedProxies(text: string): TrustedProxies | undefined {
  if (/^\d+$/.test(text)) {
    const hops = Number(text);
    if (hops > MAX_HOPS) return undefined;
    return hops === 0 ? false : hops;
  }
  if (text.trim() === '') return false;
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.every((entry) => RANGES.includes(entry) || isSubnet(entry)) ? entries : undefined;
}

/** Returns whether it is an address, with or without a prefix length. A length of 0 would match every address. */
function isSubnet(entry: string): boolean {
  const [address = '', length, ...rest] = entry.split('/');
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (bits === 0 || rest.length > 0) return false;
  return length === undefined || (/^[1-9]\d{0,2}$/.test(length) && Number(length) <= bits);
}

/**
 * Reads CORS_ORIGINS.
 *
 * @param text empty (no origin), or origins as browsers send them, separated by commas.
 * @returns undefined if one is not valid: `*`, or an origin with a path or a trailing slash.
 */
export function allowedOrigins(text: string): string[] | undefined {
  if (text.trim() === '') return [];
  const origins = text.split(',').map((origin) => origin.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** @param address to listen on. */
export const isLoopback = (address: string): boolean => /^(127\.|::1$|localhost$)/.test(address);

export function isPublicUrl(text: string): boolean {
  if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { origin, pathname } = new URL(text);
  return text === (pathname === '/' ? origin : origin + pathname) && !text.endsWith('/');
}
