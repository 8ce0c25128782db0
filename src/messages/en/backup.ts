export const backup = {
  writingJournal: ({ folder }: { folder: string }) => `Writing the journal in ${folder}`,
  copyingTo: ({ target }: { target: string }) => `Copying the database to ${target}`,
  makingCopy: ({ folder }: { folder: string }) => `Making a copy in ${folder}`,
};
