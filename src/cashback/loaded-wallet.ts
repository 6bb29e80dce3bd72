import type { Credit } from './credit.entity.js';
import type { Hold } from './hold.entity.js';
import type { Wallet } from './wallet.entity.js';

/** The part of a wallet that every use case loads first. */
export interface LoadedWallet {
  wallet: Wallet;
  /** Centavos of all credits, loaded or not, that are available by their dates, before lapsed holds are released. */
  availableByDateCents: number;
  /** All lapsed holds, and all holds of the use case's order. */
  holds: Hold[];
  /** The credits of these holds, and expired credits. */
  credits: Credit[];
}
