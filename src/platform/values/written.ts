/** What a request that writes answers. */
export interface Written<Dto> {
  dto: Dto;
  /** Whether it changed nothing, because what it asks for was so before. */
  replayed: boolean;
}
