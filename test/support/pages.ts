/** The pages that speak of the program as a whole; those of packages and campaigns stand for themselves. */
export const PAGES = [
  "README.md",
  ...["architecture", "configuration", "integration", "monitoring", "operations", "security", "trouble"].map(
    (name) => `docs/${name}.md`,
  ),
];
