/** The members that this shop uses of what docs/api.md and docs/events.md describe. Amounts are decimal strings. */
export interface OrderMessage {
  id: string;
  external_id: string;
  status: string;
  version: number;
  total: string;
  metadata: Record<string, string>;
  refunded: { amount: string };
  cashback: {
    to_redeem: { maximum: string; held: string; lapsed: string; redeemed: string; returned: string };
    to_receive: { amount: string; taken_back: string; status: string };
  };
}

export interface WalletMessage {
  /** Null for a customer who never had cashback. */
  id: string | null;
  document: string;
  available: string;
  pending: string;
  held: string;
  debt: string;
}

export interface EventMessage {
  id: string;
  type: string;
  /** Absent in a ping. */
  sequence: number;
  timestamp: string;
  data: { order?: OrderMessage; wallet?: WalletMessage; refund?: { amount: string } };
}

export interface FeedPage {
  data: EventMessage[];
  next_after: number;
  has_more: boolean;
}
