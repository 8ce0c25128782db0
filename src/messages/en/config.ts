export const config = {
  more: ({ count }: { count: number }) => `and ${count} more`,
};
