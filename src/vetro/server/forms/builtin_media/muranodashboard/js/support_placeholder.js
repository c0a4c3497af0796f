// Browsers show placeholders by themselves: nothing is left to do. The file is here so that forms that name it load.
