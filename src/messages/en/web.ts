export const web = {
  listening: ({ address }: { address: string }) => `Health, metrics and the status page: http://${address}/`,
  freePort: "Free the port or set http.listen; it is tried again by itself.",
  notListening: ({ address, error }: { address: string; error: string }) =>
    `${address} cannot be listened on (${error}): no status page for now. Orders go on.`,
  noStatus: ({ code }: { code: string }) => `The status cannot be read at present (${code}).`,
};
