import { isIP } from 'node:net';

/** What Express takes for its 'trust proxy': nobody, the nearest so many, or those at these addresses. */
export type TrustedProxies = false | number | string[];

/** Names that Express knows for the private ranges. */
const RANGES = ['loopback', 'linklocal', 'uniquelocal'];
const MAX_HOPS = 10;

/**
 * Reads TRUST_PROXY.
 *
 * @param text empty or `0` (nobody), a number of proxies, or addresses and subnets with commas between them.
 * @returns undefined for what is none of these. `true` is none: whoever calls could then claim any address.
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

/** An address, or one with the length of its prefix; a length of 0 would be everybody. */
function isSubnet(entry: string): boolean {
  const [address = '', length, ...rest] = entry.split('/');
  const bits = { 0: 0, 4: 32, 6: 128 }[isIP(address)] ?? 0;
  if (bits === 0 || rest.length > 0) return false;
  return length === undefined || (/^[1-9]\d{0,2}$/.test(length) && Number(length) <= bits);
}
