#!/bin/sh
# after_install.sh LIBDIR - run by "meson install": tells the loader of the library, and says what
# is left to do where loader or pkg-config do not look.
[ -z "$DESTDIR" ] || exit 0
case $1 in
/*) libdir=$1 ;;
*) libdir=$MESON_INSTALL_PREFIX/$1 ;;
esac
PATH=$PATH:/usr/sbin:/sbin
if [ "$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null; then
    ldconfig
fi
if command -v ldconfig >/dev/null && ! ldconfig -p | grep -qF " $libdir/libposthorn.so.0"; then
    echo "The loader does not look into $libdir. For programs that use the library:"
    echo "    export LD_LIBRARY_PATH=$libdir"
fi
if command -v pkg-config >/dev/null &&
    [ "$(pkg-config --variable pcfiledir posthorn 2>/dev/null)" != "$libdir/pkgconfig" ]; then
    echo "pkg-config does not look into $libdir/pkgconfig. To build such programs:"
    echo "    export PKG_CONFIG_PATH=$libdir/pkgconfig"
fi
exit 0
