import type { Credit } from './credit.entity.js';
import type { Hold } from './hold.entity.js';
import type { Wallet } from './wallet.entity.js';

/** The part of a wallet that a use case begins with. */
export interface LoadedWallet {
  wallet: Wallet;
  /** What can be spent of all credits by their dates, lapsed holds not released yet; loaded or not, in centavos. */
  availableByDateCents: number;
  /** All holds that have lapsed, and all holds of the order that the use case is about. */
  holds: Hold[];
  /** The credits of these holds, and credits that have expired. */
  credits: Credit[];
}
